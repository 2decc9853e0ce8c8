#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases of ai.onnx.ml, of the training ops of ai.onnx.preview.training, and of single numbers of any rank.

    make_learned.py FOLDER                  a folder for each case, as scripts/make-onnx-cases
    make_learned.py --pack FILE.tar.gz      all cases in one file

The outputs are those of ONNX Runtime; where it has no such op or does not follow ONNX, a case has those of a formula of
NumPy. Needs onnx, onnxruntime and numpy.
"""
import argparse
import importlib.util
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("make_versions", os.path.join(HERE, "make_versions.py"))
base = importlib.util.module_from_spec(spec)
spec.loader.exec_module(base)

ML, TRAINING = "ai.onnx.ml", "ai.onnx.preview.training"
FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64
AFTER = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
R = np.random.RandomState(7)


def rows(count, features, dtype=np.float32):
    """Quarters, which are splits of trees, too."""
    return (R.randint(-8, 9, (count, features)) / 4).astype(dtype)


def model_of(op, domain, version, inputs, types, attrs, opset=17, constants=()):
    names = [f"x{i}" for i in range(len(inputs))]
    outs = [f"y{i}" for i in range(len(types))]
    node = helper.make_node(op, names, outs, name="node", domain=domain, **attrs)
    values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for i, (name, x) in enumerate(zip(names, inputs))
              if i not in constants]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(outs, types) if kind]
    fixed = [numpy_helper.from_array(inputs[i], names[i]) for i in constants]
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, version)] if domain else [])
    return helper.make_model(helper.make_graph([node], "graph", values, results, fixed), opset_imports=imports, ir_version=8)


def case(name, op, inputs, types=(FLOAT,), version=1, domain=ML, want=None, constants=(), opset=17, rtol=1e-5, atol=1e-6, **attrs):
    inputs = [np.asarray(x) for x in inputs]
    model = model_of(op, domain, version, inputs, types, attrs, opset, constants)
    fed = [x for i, x in enumerate(inputs) if i not in constants]
    if want is None:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        want = session.run(None, {value.name: x for value, x in zip(model.graph.input, fed)})
    base.add(name, model, fed, want, rtol, atol)


def refusal(name, op, inputs, types=(FLOAT,), **more):
    case(f"refused_{name}", op, inputs, types, want=[np.zeros(1, np.float32)] * sum(bool(kind) for kind in types), **more)


# ---- trees ----
class Forest:
    """Random trees, in the forms of both files."""

    def __init__(self, count, depth, features, modes=("BRANCH_LEQ",), tracks=False, seed=0):
        self.nodes, self.leaves, self.roots = [], [], []
        self.random = np.random.RandomState(seed)
        self.features, self.modes, self.tracks = features, modes, tracks
        for tree in range(count):
            self.number = 0
            self.roots.append(self.grow(tree, depth))

    def grow(self, tree, depth):
        number, r = self.number, self.random
        self.number += 1
        node = {"tree": tree, "number": number, "feature": int(r.randint(self.features)), "value": float(r.randint(-6, 7) / 4), "mode": "LEAF",
                "tracks": int(r.randint(2)) if self.tracks else 0, "children": (0, 0)}
        self.nodes.append(node)
        if depth == 0 or (number > 0 and r.randint(4) == 0):
            self.leaves.append(node)
            return node
        node["mode"] = self.modes[r.randint(len(self.modes))]
        node["children"] = tuple(self.grow(tree, depth - 1)["number"] for _ in range(2))
        return node

    def named(self, target, entries, as_tensor=False):
        """Attributes of a TreeEnsembleClassifier or -Regressor. entries: (leaf, target, weight)."""
        of = lambda key: [node[key] for node in self.nodes]
        attrs = {"nodes_treeids": of("tree"), "nodes_nodeids": of("number"), "nodes_featureids": of("feature"), "nodes_modes": of("mode"),
                 "nodes_truenodeids": [node["children"][0] for node in self.nodes], "nodes_falsenodeids": [node["children"][1] for node in self.nodes],
                 f"{target}_treeids": [leaf["tree"] for leaf, _, _ in entries], f"{target}_nodeids": [leaf["number"] for leaf, _, _ in entries],
                 f"{target}_ids": [which for _, which, _ in entries]}
        if self.tracks:
            attrs["nodes_missing_value_tracks_true"] = of("tracks")
        for name, numbers in (("nodes_values", of("value")), (f"{target}_weights", [weight for _, _, weight in entries])):
            if as_tensor:
                attrs[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(numbers, np.float64), name)
            else:
                attrs[name] = numbers
        return attrs

    def entries(self, targets, low=-1.0, high=1.0, some=False):
        r = self.random
        return [(leaf, k, float(np.float32(r.uniform(low, high)))) for leaf in self.leaves for k in range(targets) if not some or r.randint(2)]


def tree_cases():
    x = rows(5, 4)
    for after in AFTER[:4]:
        forest = Forest(3, 3, 4, seed=len(after))
        for count in (2, 3):
            case(f"tree_regressor_{after}_{count}", "TreeEnsembleRegressor", [x], n_targets=count, post_transform=after, base_values=[0.25, -0.5, 0.125][:count],
                 **forest.named("target", forest.entries(count)))
            case(f"tree_regressor_{after}_none_{count}", "TreeEnsembleRegressor", [x], n_targets=count, post_transform=after,
                 **forest.named("target", forest.entries(count)))
        case(f"tree_classes_{after}", "TreeEnsembleClassifier", [x], (INT64, FLOAT), post_transform=after, classlabels_int64s=[7, -3, 5],
             base_values=[0.25, -0.5, 0.125], **forest.named("class", forest.entries(3)))
        case(f"tree_classes_{after}_some", "TreeEnsembleClassifier", [x], (INT64, FLOAT), post_transform=after, classlabels_int64s=[7, -3, 5],
             **forest.named("class", [*forest.entries(3, some=True), *((leaf, leaf["tree"], 0.5) for leaf in forest.leaves)]))
        for name, low in (("positive", 0.0), ("mixed", -0.5)):
            for class_id in (0, 1):
                entries = [(leaf, class_id, weight) for leaf, _, weight in forest.entries(1, low, 0.3)]
                case(f"tree_two_{after}_{name}_{class_id}", "TreeEnsembleClassifier", [x], (INT64, FLOAT), post_transform=after, classlabels_int64s=[4, 9],
                     **forest.named("class", entries))
            case(f"tree_two_{after}_{name}_base", "TreeEnsembleClassifier", [x], (INT64, FLOAT), post_transform=after, classlabels_int64s=[4, 9],
                 base_values=[-0.125], **forest.named("class", [(leaf, 0, weight) for leaf, _, weight in forest.entries(1, low, 0.3)]))
    forest = Forest(2, 3, 4, seed=9)
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for count in (1, 2):
            case(f"tree_{aggregate}_{count}", "TreeEnsembleRegressor", [x], n_targets=count, aggregate_function=aggregate, **({"base_values": [0.5]} if count == 1 else {}),
                 **forest.named("target", forest.entries(count, some=count > 1) + [(leaf, 0, 0.5) for leaf in forest.leaves if count > 1]))
    missing = rows(6, 4)
    missing[R.randint(3, size=missing.shape) == 0] = np.nan
    modes = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    for mode in modes:
        forest = Forest(2, 3, 4, (mode,), True, seed=len(mode))
        case(f"tree_mode_{mode}", "TreeEnsembleRegressor", [missing], n_targets=1, **forest.named("target", forest.entries(1)))
    forest = Forest(3, 4, 4, modes, True, seed=2)
    case("tree_modes", "TreeEnsembleRegressor", [missing], n_targets=1, **forest.named("target", forest.entries(1)))
    for dtype in (np.int32, np.int64, np.float64):
        case(f"tree_of_{np.dtype(dtype).name}", "TreeEnsembleClassifier", [x.astype(dtype)], (INT64, FLOAT), classlabels_int64s=[0, 1, 2], **forest.named("class", forest.entries(3)))
    case("tree_as_tensors", "TreeEnsembleRegressor", [x.astype(np.float64) + 1e-9], version=3, n_targets=1, **forest.named("target", forest.entries(1), True))
    leaf = Forest(2, 0, 4)
    case("tree_of_leaves", "TreeEnsembleRegressor", [x], n_targets=1, **leaf.named("target", leaf.entries(1)))
    # ONNX's meaning, where ONNX Runtime has another one.
    both = Forest(2, 2, 4, seed=3)
    entries = both.entries(2, 0.0, 1.0)
    model = model_of("TreeEnsembleRegressor", ML, 1, [x], (FLOAT,), dict(n_targets=2, **both.named("target", entries)))
    scores = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x0": x})[0]
    case("tree_two_with_both", "TreeEnsembleClassifier", [x], (INT64, FLOAT), classlabels_int64s=[4, 9], want=[np.array([4, 9])[scores.argmax(1)], scores],
         **both.named("class", entries))
    case("tree_labels_of_text", "TreeEnsembleClassifier", [x], (None, FLOAT), classlabels_strings=["a", "b", "c"], **forest.named("class", forest.entries(3)))
    good = forest.named("target", forest.entries(1))
    for name, changes in {"tree_mode": {"nodes_modes": ["BRANCH"] * len(forest.nodes)}, "tree_short": {"nodes_featureids": [0]},
                          "tree_child": {"nodes_truenodeids": [99] * len(forest.nodes)}, "tree_circle": {"nodes_truenodeids": [0] * len(forest.nodes)},
                          "tree_feature": {"nodes_featureids": [4] * len(forest.nodes)}, "tree_target": {"target_ids": [1] * len(good["target_ids"])},
                          "tree_leaf": {"target_nodeids": [-1] * len(good["target_ids"])}, "tree_twice": {"nodes_nodeids": [0] * len(forest.nodes)},
                          "tree_base": {"base_values": [1.0, 2.0]}, "tree_aggregate": {"aggregate_function": "MEDIAN"}, "tree_after": {"post_transform": "EXP"},
                          "tree_targets": {"n_targets": 0}, "tree_weights": {"target_weights": [1.0]}}.items():
        refusal(name, "TreeEnsembleRegressor", [x], **{"n_targets": 1, **good, **changes})
    refusal("tree_rank", "TreeEnsembleRegressor", [x[0]], n_targets=1, **good)
    classes = forest.named("class", forest.entries(3))
    refusal("tree_text", "TreeEnsembleClassifier", [x], (INT64, FLOAT), classlabels_strings=["a", "b", "c"], **classes)
    refusal("tree_one_class", "TreeEnsembleClassifier", [x], (INT64, FLOAT), classlabels_int64s=[1], **classes)
    one = [(leaf, 1, 0.5) for leaf in forest.leaves]
    refusal("tree_second_base", "TreeEnsembleClassifier", [x], (INT64, FLOAT), classlabels_int64s=[4, 9], base_values=[0.5], **forest.named("class", one))
    probit = [(leaf, 0, 0.5) for leaf in forest.leaves]
    refusal("tree_probit", "TreeEnsembleClassifier", [x], (INT64, FLOAT), classlabels_int64s=[4, 9], post_transform="PROBIT", **forest.named("class", probit))


def tree_5_cases():
    def attrs(dtype, **changes):
        pack = lambda name, values, kind=dtype: numpy_helper.from_array(np.array(values, kind), name)
        given = {"tree_roots": [0, 3], "nodes_modes": pack("modes", [0, 4, 3, 5, 1], np.uint8), "nodes_featureids": [0, 1, 2, 1, 0],
                 "nodes_splits": pack("splits", [0.25, -0.5, 0.75, 0.5, 0]), "nodes_truenodeids": [1, 0, 2, 4, 5], "nodes_trueleafs": [0, 1, 1, 0, 1],
                 "nodes_falsenodeids": [2, 1, 3, 4, 6], "nodes_falseleafs": [0, 1, 1, 1, 1], "leaf_targetids": [0, 1, 0, 1, 1, 0, 1],
                 "leaf_weights": pack("weights", [1, -2, 3, 0.5, 0.25, -1.5, 2]), "n_targets": 2}
        return {**given, **changes}

    for dtype in (np.float32, np.float64, np.float16):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        x = rows(6, 3, dtype)
        want = None
        if dtype is np.float16: # ONNX Runtime does not have it
            single = onnxruntime.InferenceSession(model_of("TreeEnsemble", ML, 5, [x.astype(np.float32)], (FLOAT,), attrs(np.float32)).SerializeToString(),
                                                  providers=["CPUExecutionProvider"])
            want = [single.run(None, {"x0": x.astype(np.float32)})[0]]
        case(f"tree_5_{np.dtype(dtype).name}", "TreeEnsemble", [x], (kind,), version=5, opset=22, want=want, **attrs(dtype))
    x = rows(6, 3)
    for aggregate in (0, 2, 3):
        case(f"tree_5_aggregate_{aggregate}", "TreeEnsemble", [x], version=5, opset=22, aggregate_function=aggregate, **attrs(np.float32))
    sets = numpy_helper.from_array(np.array([1, 3, np.nan, 2, 1, np.nan], np.float32), "sets")
    member = numpy_helper.from_array(np.array([6, 4, 6, 5, 1], np.uint8), "modes")
    case("tree_5_sets", "TreeEnsemble", [np.round(np.abs(x) * 2)], version=5, opset=22, membership_values=sets, **attrs(np.float32, nodes_modes=member))
    refusal("tree_5_sets", "TreeEnsemble", [x], version=5, opset=22, **attrs(np.float32, nodes_modes=member))
    refusal("tree_5_root", "TreeEnsemble", [x], version=5, opset=22, **attrs(np.float32, tree_roots=[5]))
    refusal("tree_5_leaf", "TreeEnsemble", [x], version=5, opset=22, **attrs(np.float32, nodes_falsenodeids=[2, 1, 3, 4, 7]))
    refusal("tree_5_mode", "TreeEnsemble", [x], version=5, opset=22, **attrs(np.float32, nodes_modes=numpy_helper.from_array(np.array([0, 4, 3, 7, 1], np.uint8))))
    refusal("tree_5_aggregate", "TreeEnsemble", [x], version=5, opset=22, **attrs(np.float32, aggregate_function=4))
    refusal("tree_5_after", "TreeEnsemble", [x], version=5, opset=22, **attrs(np.float32, post_transform=5))


# ---- scores ----
def linear_cases():
    x = rows(4, 3)
    one, two = [0.5, -0.25, 0.75], [0.5, -0.25, 0.75, -1.0, 0.25, 0.5]
    for after in AFTER[:4]:
        case(f"linear_{after}_two", "LinearRegressor", [x], coefficients=two, intercepts=[0.25, -0.5], targets=2, post_transform=after)
        case(f"linear_classes_{after}", "LinearClassifier", [x], (INT64, FLOAT), coefficients=two, intercepts=[0.25, -0.5], classlabels_ints=[5, 3], post_transform=after)
        case(f"linear_one_{after}", "LinearClassifier", [x], (INT64, FLOAT), coefficients=one, intercepts=[0.25], classlabels_ints=[5, 3], post_transform=after)
    case("linear", "LinearRegressor", [x], coefficients=one, intercepts=[0.25])
    case("linear_no_intercepts", "LinearRegressor", [x], coefficients=one)
    case("linear_row", "LinearRegressor", [x[0]], coefficients=one)
    score = (x @ np.array(one, np.float32))[:, None]
    case("linear_logistic", "LinearRegressor", [x], coefficients=one, post_transform="LOGISTIC", want=[1 / (1 + np.exp(-score))])
    chances = np.clip(np.abs(rows(4, 2)) / 3, 0.05, 0.95).astype(np.float32)
    case("linear_probit", "LinearRegressor", [chances], coefficients=[1.0, 0.0, 0.0, 1.0], targets=2, post_transform="PROBIT", rtol=0.02, atol=0.01)
    case("linear_classes_int64", "LinearClassifier", [x.astype(np.int64)], (INT64, FLOAT), coefficients=one, intercepts=[0.25], classlabels_ints=[5, 3])
    case("linear_scores_of_text", "LinearClassifier", [x], (None, FLOAT), coefficients=two, intercepts=[0.25, -0.5], classlabels_strings=["a", "b"])
    refusal("linear_text", "LinearClassifier", [x], (INT64, FLOAT), coefficients=two, intercepts=[0.25, -0.5], classlabels_strings=["a", "b"])
    refusal("linear_probit_one", "LinearClassifier", [x], (INT64, FLOAT), coefficients=one, intercepts=[0.25], classlabels_ints=[5, 3], post_transform="PROBIT")
    refusal("linear_coefficients", "LinearRegressor", [x], coefficients=one[:2])
    refusal("linear_intercepts", "LinearRegressor", [x], coefficients=one, intercepts=[0.5, 0.5])
    refusal("linear_targets", "LinearRegressor", [x], coefficients=one, targets=0)
    refusal("linear_classes", "LinearClassifier", [x], (INT64, FLOAT), coefficients=two, intercepts=[0.25, -0.5], classlabels_ints=[5, 3, 2])
    refusal("linear_one_of_three", "LinearClassifier", [x], (INT64, FLOAT), coefficients=one, intercepts=[0.25], classlabels_ints=[5, 3, 2])


# ---- features ----
def feature_cases():
    x = rows(4, 3)
    x[1] = 0
    for norm in ("MAX", "L1", "L2"):
        case(f"normalizer_{norm}", "Normalizer", [x], norm=norm)
        case(f"normalizer_{norm}_row", "Normalizer", [x[0]], norm=norm)
    case("normalizer_int64", "Normalizer", [x.astype(np.int64)], norm="L1")
    case("scaler", "Scaler", [x], scale=[2.0, 3.0, 4.0], offset=[1.0, -1.0, 0.5])
    case("scaler_one", "Scaler", [x], scale=[2.0], offset=[1.0])
    case("scaler_int32", "Scaler", [x.astype(np.int32)], scale=[2.0, 3.0, 4.0], offset=[1.0, -1.0, 0.5])
    missing = x.copy()
    missing[::2, 1] = np.nan
    case("imputer", "Imputer", [missing], imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))
    case("imputer_one", "Imputer", [x], imputed_value_floats=[9.0], replaced_value_float=0.0)
    case("imputer_int64", "Imputer", [x.astype(np.int64)], (INT64,), imputed_value_int64s=[4, 5, 6], replaced_value_int64=0)
    case("vectorizer", "FeatureVectorizer", [x, x[:, :2]], inputdimensions=[3, 2])
    case("vectorizer_columns", "FeatureVectorizer", [x, x[:, :2]], inputdimensions=[2, 4])
    case("vectorizer_vectors", "FeatureVectorizer", [x[0], x[1]], inputdimensions=[4, 1])
    case("one_hot", "OneHotEncoder", [np.array([[1, 2], [7, -3]])], cats_int64s=[7, 1, -3])
    case("one_hot_nan", "OneHotEncoder", [np.array([np.nan, 0.5, 7], np.float32)], cats_int64s=[7, 0, -3])
    case("one_hot_floats", "OneHotEncoder", [np.array([1.5, 2, -3], np.float32)], cats_int64s=[7, 1, -3])
    refusal("normalizer", "Normalizer", [x], norm="L3")
    refusal("normalizer_rank", "Normalizer", [x[None]])
    refusal("scaler", "Scaler", [x], scale=[2.0, 3.0])
    refusal("imputer", "Imputer", [x], imputed_value_int64s=[4])
    refusal("imputer_count", "Imputer", [x], imputed_value_floats=[4.0, 5.0])
    refusal("imputer_int64_count", "Imputer", [x.astype(np.int64)], (INT64,), imputed_value_int64s=[4, 5])
    refusal("vectorizer", "FeatureVectorizer", [x, x], inputdimensions=[3])
    refusal("vectorizer_size", "FeatureVectorizer", [x, x], inputdimensions=[3, -2])
    refusal("vectorizer_rank", "FeatureVectorizer", [x[None]])
    refusal("one_hot_text", "OneHotEncoder", [np.array([1])], cats_strings=["a"])
    refusal("one_hot_zeros", "OneHotEncoder", [np.array([1])], cats_int64s=[1], zeros=0)
    refusal("zip_map", "ZipMap", [x], classlabels_int64s=[1, 2, 3])


def label_cases():
    numbers = np.array([[1, 2], [-7, 5], [2, 2**60 + 1]])
    case("labels", "LabelEncoder", [numbers], (INT64,), version=2, keys_int64s=[2, 1, 2, 2**60, 2**60 + 1], values_int64s=[10, 20, 30, 40, 50], default_int64=-5)
    case("labels_no_default", "LabelEncoder", [numbers], (INT64,), version=2, keys_int64s=[2], values_int64s=[10])
    case("labels_to_floats", "LabelEncoder", [numbers], version=2, keys_int64s=[1, 5], values_floats=[0.5, 1.5], default_float=2.5)
    case("labels_of_floats", "LabelEncoder", [np.array([1.5, 2, 0.25], np.float32)], (INT64,), version=2, keys_floats=[2.0, 1.5], values_int64s=[3, 4])
    pack = lambda values, dtype: numpy_helper.from_array(np.array(values, dtype), "t")
    number = np.array([0.5, np.nan, 3.0])
    case("labels_of_tensors", "LabelEncoder", [number], (INT64,), version=4, opset=20, keys_tensor=pack([3.0, np.nan], np.float64), values_tensor=pack([8, 9], np.int64),
         default_tensor=pack([7], np.int64), want=[np.array([7, 9, 8])])
    refusal("labels", "LabelEncoder", [numbers], (INT64,), version=2, keys_int64s=[2, 1], values_int64s=[10])
    refusal("labels_text", "LabelEncoder", [numbers], version=2, keys_int64s=[2], values_strings=["a"])
    refusal("labels_type", "LabelEncoder", [numbers.astype(np.float32)], (INT64,), version=2, keys_int64s=[2], values_int64s=[10])
    refusal("labels_default", "LabelEncoder", [number], (INT64,), version=4, opset=20, keys_tensor=pack([3.0], np.float64), values_tensor=pack([8], np.int64),
            default_tensor=pack([7.0], np.float32))
    refusal("labels_1", "LabelEncoder", [numbers], (INT64,), version=1, classes_strings=["a"])


# ---- training ----
def training_cases():
    rate, step = np.float32(0.1), np.int64(3)
    tensors = lambda count: [rows(2, 3) for _ in range(count)]
    for count in (1, 2):
        x, g, h = tensors(count), tensors(count), [np.abs(v) for v in tensors(count)]
        for decay in (0.0, 0.25):
            r = rate / (1 + step * decay)
            grads = [0.125 * a + b for a, b in zip(x, g)]
            sums = [c + b * b for b, c in zip(grads, h)]
            want = [a - r * b / (np.sqrt(c) + 1e-3) for a, b, c in zip(x, grads, sums)] + sums
            case(f"adagrad_{count}_{decay}", "Adagrad", [rate, step, *x, *g, *h], (FLOAT,) * 2 * count, domain=TRAINING, want=want, norm_coefficient=0.125, epsilon=1e-3,
                 decay_factor=decay)
        v = tensors(count)
        for at in (0, 3):
            r = 0.1 * np.sqrt(1 - 0.75**at) / (1 - 0.5**at) if at else 0.1
            grads = [0.125 * a + b for a, b in zip(x, g)]
            first = [0.5 * a + 0.5 * b for a, b in zip(v, grads)]
            second = [0.75 * a + 0.25 * b * b for a, b in zip(h, grads)]
            moved = [(1 - 0.25) * (a - r * b / (np.sqrt(c) + 1e-3)) for a, b, c in zip(x, first, second)]
            case(f"adam_{count}_{at}", "Adam", [rate, np.int64(at), *x, *g, *v, *h], (FLOAT,) * 3 * count, domain=TRAINING, want=[*moved, *first, *second], alpha=0.5, beta=0.75,
                 norm_coefficient=0.125, norm_coefficient_post=0.25, epsilon=1e-3)
        for mode in ("standard", "nesterov"):
            for at in (0, 3):
                b = 0.25 if at else 1.0
                grads = [0.125 * a + c for a, c in zip(x, g)]
                news = [0.5 * a + b * c for a, c in zip(v, grads)]
                steps = news if mode == "standard" else [c + 0.5 * n for c, n in zip(grads, news)]
                want = [a - rate * c for a, c in zip(x, steps)] + news
                case(f"momentum_{mode}_{count}_{at}", "Momentum", [rate, np.int64(at), *x, *g, *v], (FLOAT,) * 2 * count, domain=TRAINING, want=want, alpha=0.5, beta=0.25,
                     norm_coefficient=0.125, mode=mode)
    refusal("adam_inputs", "Adam", [rate, step, *tensors(3)], (FLOAT,) * 3, domain=TRAINING)
    refusal("momentum_mode", "Momentum", [rate, step, *tensors(3)], (FLOAT,) * 2, domain=TRAINING, alpha=0.5, beta=0.25, norm_coefficient=0.0, mode="best")


# ---- single numbers ----
def number_cases():
    x = rows(3, 4)
    boxes, scores = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]]], np.float32), np.array([[[0.9, 0.8, 0.7]]], np.float32)
    limits = [np.array([[2]]), np.array([[0.5]], np.float32), np.array([[0.1]], np.float32)]
    case("limits_of_rank_2", "NonMaxSuppression", [boxes, scores, *limits], (INT64,), domain="", constants=(2, 3, 4))
    case("window_of_rank_2", "HannWindow", [np.array([[4]])], domain="", constants=(0,), want=[np.array([0, 0.5, 1, 0.5])])
    case("k_of_rank_2", "TopK", [x, np.array([[2]])], (FLOAT, INT64), domain="", constants=(1,), want=[-np.sort(-x, 1)[:, :2], np.argsort(-x, 1, "stable")[:, :2]])
    case("axis_of_rank_2", "CumSum", [x, np.array([[0]])], domain="", constants=(1,), want=[np.cumsum(x, 0)])
    case("diagonal_of_rank_2", "Trilu", [x, np.array([[1]])], domain="", constants=(1,), want=[np.triu(x, 1)])
    refusal("k_of_two", "TopK", [x, np.array([[2, 1]])], (FLOAT, INT64), domain="", constants=(1,))
    refusal("shape_of_rank_2", "Reshape", [x, np.array([[12]])], domain="", constants=(1,))
    refusal("axes_of_rank_2", "ReduceSum", [x, np.array([[0]])], domain="", constants=(1,))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--pack", metavar="FILE")
    given = parser.parse_args()
    if not given.folder and not given.pack:
        parser.error("a folder or --pack is needed")
    for make in (tree_cases, tree_5_cases, linear_cases, feature_cases, label_cases, training_cases, number_cases):
        make()
    if given.folder:
        base.write_folder(given.folder)
    if given.pack:
        base.write_packed(given.pack)
    print(f"{len(base.CASES)} cases of onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    sys.exit(main())
