# SPDX-License-Identifier: Apache-2.0
"""Attention, rotary embeddings, RMSNorm, GroupNorm and InstanceNorm, which TensorFlow has no ops for.

The outputs are NumPy's, in float64 or wider. Each must agree with the written-out form in TensorFlow and, where it has
the op, with Keras (keras.ops.dot_product_attention, RMSNormalization, GroupNormalization) and with the reference
evaluator of ONNX (Attention, RotaryEmbedding, RMSNormalization, GroupNormalization, InstanceNormalization)."""
import keras
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from golden_case import BF16, BOOL, F16, F32, F64, FLOATING, FLOATS, HALVES, I32, I64, Recorder, random_values, tf

NEAR = {F32: {"rel": 4e-6, "abs": 4e-6}, F64: {"rel": 1e-14, "abs": 1e-14}, F16: {"ulp": 1, "rel": 2e-6, "abs": 1e-5},
        BF16: {"ulp": 1, "rel": 2e-6, "abs": 1e-5}}
HALF_STEPS = {F16: {"rel": 0.02, "abs": 0.04}, BF16: {"rel": 0.1, "abs": 0.2}}
ONNX_OPSET = 24


def near(dtype):
    return {"tolerance": NEAR[dtype], "tf_tolerance": HALF_STEPS.get(dtype)}


def run_onnx(op, inputs, attrs, outputs=1):
    """The results of ONNX's reference, in float64."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    node = onnx.helper.make_node(op, names, [f"y{i}" for i in range(outputs)], **attrs)
    graph = onnx.helper.make_graph(
        [node], "g", [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                      for n, x in zip(names, inputs) if n],
        [onnx.helper.make_tensor_value_info(f"y{i}", onnx.TensorProto.DOUBLE, None) for i in range(outputs)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", ONNX_OPSET)])
    return ReferenceEvaluator(model).run(None, {n: x for n, x in zip(names, inputs) if n})


def agree(ours, theirs, what, near=1e-9):
    assert np.allclose(ours.astype(F64), np.asarray(theirs).astype(F64), rtol=near, atol=near, equal_nan=True), what


SINGLE = 2e-5   # for those that compute in float32


def special_values(dtype):
    return np.nan, np.inf, -0.0, 2.0**-24 if dtype == F16 else np.finfo(F32).tiny / 4 if dtype != F64 else 2.0**-1070


def with_special(inputs, value):
    """The inputs, the first of which has the value in head 0, the next one in head 1, ..."""
    made = [x.copy() for x in inputs]
    for i, x in enumerate(made):
        x[0, i].reshape(-1)[0] = value
    return made


# ---- attention ----

def in_heads(x):
    return x if x.ndim == 4 else x[:, None]


def scores_of(q, k, mask, attrs, past):
    """The scores of all keys, and which are seen at all."""
    scale = attrs.get("scale", 0.0) or 1 / np.sqrt(q.shape[-1])
    s = np.matmul(q, np.swapaxes(np.repeat(k, q.shape[1] // k.shape[1] if k.shape[1] else 1, axis=1), -1, -2)) * scale
    if attrs.get("softcap", 0.0):
        s = np.tanh(s / attrs["softcap"]) * attrs["softcap"]
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else np.where(mask == -np.inf, -np.inf, s + mask)
    if attrs.get("is_causal"):
        s = np.where(np.arange(k.shape[2])[None] <= np.arange(q.shape[2])[:, None] + past, s, -np.inf)
    return s


def attention_reference(inputs, attrs):
    wide = [x if x.dtype == BOOL else x.astype(F64) for x in inputs]
    past = wide[4].shape[-2] if len(wide) > 4 else 0
    keys = [np.concatenate([wide[4 + i], wide[1 + i]], -2) if len(wide) > 4 else wide[1 + i] for i in range(2)]
    q, k, v = (in_heads(x) for x in (wide[0], *keys))
    mask = wide[3] if len(wide) > 3 else None
    if mask is not None and wide[0].ndim == 3 and mask.ndim == 3:
        mask = mask[:, None]
    s = scores_of(q, k, mask, attrs, past)
    most = s.max(-1, keepdims=True, initial=-np.inf)
    p = np.exp(s - np.where(most == -np.inf, 0, most))
    total = p.sum(-1, keepdims=True)
    out = np.matmul(p, np.repeat(v, q.shape[1] // v.shape[1] if v.shape[1] else 1, axis=1))
    out = np.where(total == 0, 0, out / np.where(total == 0, 1, total))
    sums = np.where(total == 0, -np.inf, most + np.log(total))[..., 0]
    if wide[0].ndim == 3:
        out, sums = out[:, 0], sums[:, 0]
    dtype = inputs[0].dtype
    if dtype == F64 and out.size and wide[0].ndim == 4 and np.isfinite(wide[0]).all() and np.isfinite(wide[1]).all():
        check_attention(wide, attrs, out)
    return [out.astype(dtype), keys[0].astype(dtype), keys[1].astype(dtype), sums.astype(F64 if dtype == F64 else F32)]


def check_attention(inputs, attrs, out):
    if inputs[1].shape[2] == 0:
        return
    theirs = dict(attrs, is_causal=int(attrs.get("is_causal", False)))
    if not theirs.get("scale"):
        theirs.pop("scale", None)
    given = [*inputs[:6], *[None] * (6 - len(inputs))] if len(inputs) > 3 else inputs
    if len(inputs) > 3:
        keys = inputs[1].shape[2] + (inputs[4].shape[2] if len(inputs) > 4 else 0)
        given[3] = np.broadcast_to(inputs[3], (*inputs[3].shape[:-2], inputs[0].shape[2], keys)) if inputs[3].ndim >= 2 else \
            np.broadcast_to(inputs[3], (inputs[0].shape[2], keys))
        given = given[:len(inputs)]
    agree(out, run_onnx("Attention", given, theirs)[0], "Attention")
    if len(inputs) == 3 and not attrs.get("softcap") and inputs[0].shape[1] == inputs[1].shape[1]:
        swapped = [np.swapaxes(x, 1, 2) for x in inputs]
        ours = keras.ops.dot_product_attention(*swapped, scale=attrs.get("scale") or None, is_causal=attrs.get("is_causal", False))
        agree(np.swapaxes(out, 1, 2), ours, "keras.ops.dot_product_attention", SINGLE)


def tf_attention(inputs, attrs):
    """The written-out form, in the type of the inputs."""
    q, k, v = inputs[:3]
    past = 0
    if len(inputs) > 4:
        past = inputs[4].shape[-2]
        k, v = tf.concat([inputs[4], k], -2), tf.concat([inputs[5], v], -2)
    keys, values = k, v
    if q.shape.rank == 4:
        group = q.shape[1] // max(k.shape[1], 1)
        k, v = tf.repeat(k, group, 1), tf.repeat(v, group, 1)
    scale = attrs.get("scale", 0.0) or 1 / np.sqrt(q.shape[-1])
    s = tf.matmul(q, k, transpose_b=True) * tf.constant(scale, q.dtype)
    if attrs.get("softcap", 0.0):
        s = tf.tanh(s / tf.constant(attrs["softcap"], s.dtype)) * tf.constant(attrs["softcap"], s.dtype)
    low = tf.cast(-np.inf, s.dtype)
    if len(inputs) > 3:
        m = inputs[3]
        s = tf.where(m, s, low) if m.dtype == tf.bool else tf.where(m == low, low, s + m)
    if attrs.get("is_causal"):
        s = tf.where(tf.range(s.shape[-1])[None] <= tf.range(s.shape[-2])[:, None] + past, s, low)
    most = tf.reduce_max(s, -1, keepdims=True) if s.shape[-1] else tf.fill((*s.shape[:-1], 1), low)
    p = tf.exp(s - tf.stop_gradient(tf.where(most == low, tf.zeros_like(most), most)))
    total = tf.reduce_sum(p, -1, keepdims=True)
    one = tf.ones_like(total)
    out = tf.where(total == 0, tf.zeros_like(total), tf.matmul(p, v) / tf.where(total == 0, one, total))
    sums = tf.where(total == 0, low, most + tf.math.log(tf.where(total == 0, one, total)))[..., 0]
    return [out, keys, values, tf.cast(sums, tf.float64 if q.dtype == tf.float64 else tf.float32)]


def triple(dtype, q, k, dim, value_dim=None, name="attention"):
    """query, key and value of (heads, length)."""
    batch = (2,)
    return [random_values(dtype, (*batch, *q, dim), name, 0), random_values(dtype, (*batch, *k, dim), name, 1),
            random_values(dtype, (*batch, *k, value_dim or dim), name, 2)]


def attention_masks(dtype):
    """Masks for 2 x 2 heads of 3 queries and 5 keys; some rows see no key."""
    some = np.array([[1, 0, 1, 0, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0]], bool)
    added = random_values(dtype, (2, 2, 3, 5), "mask").copy()
    added[0, 1, 2] = -np.inf
    added[1, 0, 0, 1:4] = -np.inf
    return {"bool": some, "bool_batch": np.stack([some, ~some])[:, None], "bool_keys": some[:1], "bool_queries": np.array([[1], [0], [1]], bool),
            "bool_scalar": np.array(True), "added": added, "added_heads": added[:1], "added_keys": added[0, 0, 0]}


def long_masks(dtype, queries, keys):
    """Masks for 2 heads of more queries and keys than a block has: of pairs, and one added to the keys of each head."""
    pairs = (np.arange(queries)[:, None] * 7 + np.arange(keys) * 3) % 5 != 0
    return {"pairs": pairs, "added": random_values(dtype, (2, 1, keys), "mask")}


def attention():
    r = Recorder("ScaledDotProductAttention", tf_op=tf_attention, reference=attention_reference)
    for dtype in FLOATING:
        at = dtype.name
        r.add(at, triple(dtype, (2, 3), (2, 5), 4), **near(dtype))
        r.add(f"{at}_causal", triple(dtype, (2, 5), (2, 5), 4, 3), {"is_causal": True}, **near(dtype))
        r.add(f"{at}_groups", triple(dtype, (6, 3), (2, 5), 4), {"scale": 0.25}, **near(dtype))
        masks = attention_masks(dtype)
        for name, mask in masks.items() if dtype == F32 else [("bool_batch", masks["bool_batch"]), ("added", masks["added"])]:
            r.add(f"{at}_mask_{name}", [*triple(dtype, (2, 3), (2, 5), 4), mask], {"is_causal": True} if name == "bool_keys" else {}, **near(dtype))
        past = [random_values(dtype, (2, 2, 2, 4), "past", 0), random_values(dtype, (2, 2, 2, 3), "past", 1)]
        r.add(f"{at}_past", [*triple(dtype, (2, 3), (2, 3), 4, 3), masks["bool"], *past], {"is_causal": True}, **near(dtype))
        r.add(f"{at}_softcap", triple(dtype, (2, 3), (2, 5), 4), {"softcap": 1.5}, **near(dtype))
        r.add(f"{at}_without_heads", [*triple(dtype, (3,), (5,), 7), masks["bool_batch"][:, 0]], **near(dtype))
        for k, value in enumerate(special_values(dtype)):
            x = [*triple(dtype, (6, 3), (6, 3), 2), np.zeros((2, 6, 3, 5), dtype), *(random_values(dtype, (2, 6, 2, 2), "past", i) for i in range(2))]
            r.add(f"{at}_special_{k}", with_special(x, value), **near(dtype), numpy_only=True)
    for dtype in FLOATS:
        for q, k, dim, value_dim in (((1, 1), (1, 130), 16, 16), ((1, 70), (1, 70), 33, 5), ((1, 100), (1, 200), 8, 8), ((2, 17), (1, 65), 64, 64)):
            for causal in (False, True):
                r.add(f"{dtype.name}_{q[0]}x{q[1]}_{k[0]}x{k[1]}_{dim}_{value_dim}_{int(causal)}", triple(dtype, q, k, dim, value_dim),
                      {"is_causal": causal, "scale": 0.0625}, tolerance={k: 4 * v for k, v in NEAR[dtype].items()})
        for name, mask in long_masks(dtype, 70, 200).items():
            r.add(f"{dtype.name}_long_mask_{name}", [*triple(dtype, (2, 70), (1, 200), 8), mask],
                  tolerance={k: 4 * v for k, v in NEAR[dtype].items()})
    for name, q, k in (("batch", (0, 2, 3), (0, 2, 5)), ("queries", (1, 2, 0), (1, 2, 5)), ("keys", (1, 2, 3), (1, 2, 0)), ("heads", (1, 0, 3), (1, 0, 5))):
        r.add(f"float32_empty_{name}", [np.zeros((*q, 4), F32), np.ones((*k, 4), F32), np.ones((*k, 2), F32)], numpy_only=True)
    attention_errors(r)
    return r


def attention_errors(r):
    q, k, v = triple(F32, (2, 3), (2, 5), 4)
    past = [random_values(F32, (2, 2, 2, 4), "past", i) for i in range(2)]
    yes = np.array(True)
    r.our_error("heads_do_not_divide", [np.repeat(q, 3, 1)[:, :5], k, v],
                contains="query has 5 heads and key has 2; a multiple of key's heads is accepted")
    r.our_error("ranks_differ", [q, k[:, 0], v[:, 0]], contains="but key has shape [2,5,4]")
    r.our_error("rank_5", [q[None], k[None], v[None]], contains="but query has shape [1,2,2,3,4]")
    r.our_error("vector", [q[0, 0, 0], k, v], contains="query, key and value must each have the shape [batch, heads, length, dim]")
    r.our_error("dims_differ", [q[..., :3], k, v], contains="the same batch and the same last size are accepted")
    r.our_error("batches_differ", [q[:1], k, v], contains="the same batch and the same last size are accepted")
    r.our_error("lengths_differ", [q, k, v[:, :, :4]], contains="shapes that differ only in the last size are accepted")
    r.our_error("mask_shape", [q, k, v, np.ones((3, 4), bool)],
                contains="mask has shape [3,4]; a shape that broadcasts to that of the scores, [2,2,3,5], is accepted")
    r.our_error("mask_rank", [q, k, v, np.ones((1, 2, 2, 3, 5), bool)], contains="mask has shape [1,2,2,3,5]")
    r.our_error("mask_type", [q, k, v, np.ones((3, 5), F64)], contains="mask has type float64; bool and the type of query, float32, are accepted")
    r.our_error("mask_of_integers", [q, k, v, np.ones((3, 5), I32)], contains="Tmask")
    r.our_error("softcap_negative", [q, k, v], {"softcap": -1.0}, "softcap is -1; a finite number above 0 is accepted")
    r.our_error("head_without_elements", [q[..., :0], k[..., :0], v], contains="a head of query and key has 0 elements; 1 to 1024 are accepted")
    r.our_error("head_too_large", [np.ones((1, 1, 1, 4), F32), np.ones((1, 1, 1, 4), F32), np.ones((1, 1, 1, 1025), F32)],
                contains="a head of value has 1025 elements; 1 to 1024 are accepted")
    r.our_error("past_of_keys_only", [q, k, v, yes, past[0]], contains="past_key is given without past_value")
    r.our_error("past_shape", [q, k, v, yes, past[0][..., :3], past[1]], contains="past_key has shape [2,2,2,3]")
    r.our_error("past_lengths", [q, k, v, yes, past[0][:, :, :1], past[1]], contains="past_key has 1 places and past_value has 2")
    r.our_error("past_causal", [q, k, v, yes, *past], {"is_causal": True}, "is_causal with a past has 3 queries and 5 keys")
    r.our_error("types_differ", [q, k.astype(F64), v], contains="was expected to be a float32 tensor but is a float64 tensor")


def tf_attention_grad(inputs, attrs):
    q, k, v, _, _, dy = inputs[:6]
    with tf.GradientTape() as tape:
        tape.watch([q, k, v])
        if attrs.get("has_past"):
            past = k.shape[-2] - q.shape[-2]
            out = tf_attention([q, k[:, :, past:], v[:, :, past:], *(inputs[6:] or [tf.constant(True)]), k[:, :, :past], v[:, :, :past]], attrs)[0]
        else:
            out = tf_attention([q, k, v, *inputs[6:]], attrs)[0]
    return tape.gradient(out, [q, k, v], output_gradients=dy, unconnected_gradients="zero")


def attention_grad_reference(inputs, attrs):
    wide = [x if x.dtype == BOOL else x.astype(F64) for x in inputs]
    q, k, v, out, sums, dy = (in_heads(x) for x in wide[:6])
    sums = wide[4] if wide[0].ndim == 4 else wide[4][:, None]
    mask = wide[6] if len(wide) > 6 else None
    group = q.shape[1] // k.shape[1]
    s = scores_of(q, k, mask, attrs, k.shape[2] - q.shape[2] if attrs.get("has_past") else 0)
    p = np.exp(s - np.where(sums == -np.inf, 0, sums)[..., None])
    slope = p * (np.matmul(dy, np.swapaxes(np.repeat(v, group, 1), -1, -2)) - (dy * out).sum(-1, keepdims=True))
    cap, scale = attrs.get("softcap", 0.0), attrs.get("scale", 0.0) or 1 / np.sqrt(q.shape[-1])
    if cap:
        slope = slope * (1 - np.tanh(np.matmul(q, np.swapaxes(np.repeat(k, group, 1), -1, -2)) * scale / cap) ** 2)
    slope = slope * scale

    def joined(x):
        return x.reshape(x.shape[0], k.shape[1], group, *x.shape[2:]).sum(2)
    dq = np.matmul(slope, np.repeat(k, group, 1))
    dk, dv = joined(np.matmul(np.swapaxes(slope, -1, -2), q)), joined(np.matmul(np.swapaxes(p, -1, -2), dy))
    return [x.reshape(like.shape).astype(inputs[0].dtype) for x, like in zip((dq, dk, dv), inputs)]


def attention_grad():
    r = Recorder("ScaledDotProductAttentionGrad", tf_op=tf_attention_grad, reference=attention_grad_reference)

    def add(name, inputs, attrs=None, mask=None, **how):
        attrs = attrs or {}
        dtype = inputs[0].dtype
        given = list(inputs)
        if attrs.get("has_past"):
            past = inputs[1].shape[2] - inputs[0].shape[2]
            given = [inputs[0], inputs[1][:, :, past:], inputs[2][:, :, past:], np.array(True), inputs[1][:, :, :past], inputs[2][:, :, :past]]
        elif mask is not None:
            given.append(mask)
        out, _, _, sums = attention_reference(given, {k: v for k, v in attrs.items() if k != "has_past"})
        dy = random_values(dtype, out.shape, "attention", 9)
        # rounded outputs and sums take part
        bound = {F32: {"rel": 1e-5, "abs": 2e-5}, F64: {"rel": 1e-13, "abs": 1e-13}, F16: {"rel": 0.004, "abs": 0.004},
                 BF16: {"rel": 0.02, "abs": 0.03}}[dtype]
        r.add(name, [*inputs, out, sums, dy, *([mask] if mask is not None else [])], attrs, tolerance=bound,
              tf_tolerance={F16: {"rel": 0.05, "abs": 0.2}, BF16: {"rel": 0.2, "abs": 1.5}}.get(dtype), **how)
    for dtype in FLOATING:
        at, masks = dtype.name, attention_masks(dtype)
        add(at, triple(dtype, (2, 3), (2, 5), 4))
        add(f"{at}_causal", triple(dtype, (2, 5), (2, 5), 4, 3), {"is_causal": True})
        add(f"{at}_groups", triple(dtype, (6, 3), (2, 5), 4), {"scale": 0.25})
        add(f"{at}_mask", triple(dtype, (2, 3), (2, 5), 4), mask=masks["bool_batch"])
        add(f"{at}_added", triple(dtype, (2, 3), (2, 5), 4), mask=masks["added"])
        add(f"{at}_past", triple(dtype, (2, 3), (2, 5), 4, 3), {"is_causal": True, "has_past": True})
        add(f"{at}_softcap", triple(dtype, (2, 3), (2, 5), 4), {"softcap": 1.5})
    for dtype in FLOATS:
        add(f"{dtype.name}_long", triple(dtype, (2, 100), (1, 200), 16, 8), {"is_causal": True})
        add(f"{dtype.name}_odd", triple(dtype, (3, 17), (1, 66), 33, 5))
        for name, mask in long_masks(dtype, 100, 200).items():
            add(f"{dtype.name}_long_mask_{name}", triple(dtype, (2, 100), (1, 200), 8), mask=mask)
    for dtype in FLOATING:
        for k, value in enumerate(special_values(dtype)):
            x = [*triple(dtype, (7, 3), (7, 5), 4), random_values(dtype, (2, 7, 3, 4), "out"), np.ones((2, 7, 3), F64 if dtype == F64 else F32),
                 random_values(dtype, (2, 7, 3, 4), "slope"), np.zeros((2, 7, 3, 5), dtype)]
            bound = {F32: {"rel": 2e-5, "abs": 2e-5}, F64: {"rel": 1e-13, "abs": 1e-13}}.get(dtype, {"ulp": 1, "rel": 2e-5, "abs": 1e-4})
            r.add(f"{dtype.name}_special_{k}", with_special(x, value), {"scale": 0.125}, tolerance=bound, numpy_only=True)
    empty = np.zeros((1, 2, 0, 4), F32)
    some = random_values(F32, (1, 2, 3, 4), "some")
    r.add("float32_empty_keys", [some, empty, empty, np.zeros((1, 2, 3, 4), F32), np.full((1, 2, 3), -np.inf, F32), some], numpy_only=True)
    r.add("float32_empty_queries", [empty, some, some, empty, np.zeros((1, 2, 0), F32), empty], numpy_only=True)
    q, k, v = triple(F32, (2, 3), (2, 5), 4)
    sums = np.zeros((2, 2, 3), F32)
    r.our_error("sums_shape", [q, k, v, q, sums[:1], q], contains="log_sum_exp has shape [1,2,3]; [2,2,3] is accepted")
    r.our_error("output_shape", [q, k, v, k, sums, q], contains="output has shape [2,2,5,4]; [2,2,3,4] is accepted")
    r.our_error("mask_shape", [q, k, v, q, sums, q, np.ones((3, 4), bool)], contains="mask has shape [3,4]")
    return r


# ---- RotaryEmbedding ----

def rotary_reference(inputs, attrs):
    x, cos, sin = (i.astype(F64) for i in inputs[:3])
    heads_last = x.ndim == 3
    wide = x.reshape(*x.shape[:2], attrs["num_heads"], -1) if heads_last else np.swapaxes(x, 1, 2)
    if len(inputs) > 3:
        cos, sin = cos[inputs[3]], sin[inputs[3]]
    half = cos.shape[-1]
    cos, sin = (c.reshape(*c.shape[:-1], 1, half) for c in (cos, sin))
    y = wide.copy()
    parts = (np.s_[..., 0:2 * half:2], np.s_[..., 1:2 * half:2]) if attrs.get("interleaved") else (np.s_[..., :half], np.s_[..., half:2 * half])
    a, b = wide[parts[0]], wide[parts[1]]
    y[parts[0]], y[parts[1]] = cos * a - sin * b, sin * a + cos * b
    y = y.reshape(x.shape) if heads_last else np.swapaxes(y, 1, 2)
    if inputs[0].dtype == F64 and y.size and np.isfinite(x).all() and (cos.ndim == 4 or len(inputs) > 3):
        theirs = {k: int(v) for k, v in attrs.items()}
        agree(y, run_onnx("RotaryEmbedding", inputs, theirs)[0], "RotaryEmbedding")
    return y.astype(inputs[0].dtype)


def rotary():
    r = Recorder("RotaryEmbedding", reference=rotary_reference)

    def caches(dtype, *shape):
        angles = random_values(F64, shape, "angles")
        return [np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)]
    # the products round, and then their sum
    bounds = {F32: {"rel": 2e-7, "abs": 1e-6}, F64: {"rel": 4e-16, "abs": 2e-15}, F16: {"ulp": 1, "abs": 1e-6}, BF16: {"ulp": 1, "abs": 1e-6}}
    for dtype in FLOATING:
        at, how = dtype.name, {"tolerance": bounds[dtype], "numpy_only": True}
        x = random_values(dtype, (2, 3, 5, 8), "rotary")
        flat = random_values(dtype, (2, 5, 24), "rotary")
        for interleaved in (False, True):
            mode = f"{at}_{'neighbours' if interleaved else 'halves'}"
            r.add(mode, [x, *caches(dtype, 2, 5, 4)], {"interleaved": interleaved}, **how)
            r.add(f"{mode}_shared", [x, *caches(dtype, 5, 4)], {"interleaved": interleaved}, **how)
            r.add(f"{mode}_partial", [x, *caches(dtype, 2, 5, 3)], {"interleaved": interleaved, "rotary_embedding_dim": 6}, **how)
            for ids in (I32, I64):
                r.add(f"{mode}_places_{ids.name}", [flat, *caches(dtype, 9, 4), np.array([[0, 8, 3, 3, 1], [7, 2, 0, 5, 6]], ids)],
                      {"interleaved": interleaved, "num_heads": 3}, **how)
        special = np.array([*special_values(dtype), 1, 2]).astype(dtype)
        r.add(f"{at}_special", [np.resize(special, (1, 1, 2, 12)), *caches(dtype, 2, 6)], **how)
        r.add(f"{at}_special_caches", [random_values(dtype, (1, 1, 2, 12), "rotary"), np.resize(special, (2, 6)), np.resize(special[::-1], (2, 6))], **how)
    for name, shape, half in (("batch", (0, 2, 3, 4), (3, 2)), ("length", (1, 2, 0, 4), (0, 2)), ("heads", (1, 0, 3, 4), (3, 2))):
        r.add(f"float32_empty_{name}", [np.zeros(shape, F32), np.ones(half, F32), np.zeros(half, F32)], numpy_only=True)
    x, (cos, sin), places = random_values(F32, (2, 3, 5, 8), "rotary"), caches(F32, 5, 4), np.zeros((2, 5), I64)
    r.our_error("vector", [x[0, 0, 0], cos, sin], contains="x must have the shape [batch, heads, length, size]")
    r.our_error("no_heads", [x[:, 0], cos, sin], contains="num_heads is 0 with x of shape [2,5,8]; a divisor of its last size is accepted")
    r.our_error("heads_do_not_divide", [x[:, 0], cos, sin], {"num_heads": 3}, "num_heads is 3 with x of shape [2,5,8]")
    r.our_error("heads_differ", [x, cos, sin], {"num_heads": 2}, "num_heads is 2")
    r.our_error("odd", [x[..., :7], cos[:, :3], sin[:, :3]], contains="rotary_embedding_dim is 0 with heads of 7 elements")
    r.our_error("too_many", [x, cos, sin], {"rotary_embedding_dim": 10}, "rotary_embedding_dim is 10 with heads of 8 elements")
    r.our_error("cosines_too_few", [x, cos[:, :3], sin[:, :3]], contains="cos_cache has shape [5,3]")
    r.our_error("sines_differ", [x, cos, sin[:, :3]], contains="sin_cache has shape [5,3]; the shape of cos_cache is accepted")
    r.our_error("places_too_few", [x, cos[:4], sin[:4]], contains="cos_cache has shape [4,4]")
    r.our_error("ids_shape", [x, cos, sin, places[:, :4]], contains="position_ids has shape [2,4]")
    r.our_error("ids_with_batch", [x, *caches(F32, 2, 5, 4), places], contains="with position_ids, [positions, half] is accepted")
    r.our_error("id_too_large", [x, cos, sin, places + 5], contains="5")
    r.our_error("types_differ", [x, cos.astype(F64), sin], contains="was expected to be a float32 tensor but is a float64 tensor")
    return r


# ---- normalisation ----

def rms_reference(inputs, attrs):
    x, scale = (i.astype(np.longdouble) for i in inputs)
    axes = tuple(range(x.ndim - scale.ndim, x.ndim))
    epsilon = attrs.get("epsilon", 1e-5)
    y = (x / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon) * scale).astype(F64)
    if inputs[0].dtype == F64 and y.size:
        agree(y, run_onnx("RMSNormalization", inputs, {"axis": attrs.get("axis", -1), "epsilon": epsilon})[0], "RMSNormalization", SINGLE)
    return y.astype(inputs[0].dtype)


def tf_rms_norm(inputs, attrs):
    x, scale = inputs
    axes = list(range(x.shape.rank - scale.shape.rank, x.shape.rank))
    epsilon = attrs.get("epsilon", 1e-5)
    if len(axes) > 1:
        return x / tf.sqrt(tf.reduce_mean(x * x, axes, keepdims=True) + tf.constant(epsilon, x.dtype)) * scale
    layer = keras.layers.RMSNormalization(epsilon=epsilon, dtype=x.dtype.name)
    layer.build(x.shape)
    layer.set_weights([scale.numpy()])
    return tf.convert_to_tensor(layer(x))


def groups_reference(inputs, attrs, groups=None):
    x, scale, offset = (i.astype(np.longdouble) for i in inputs)
    last, epsilon = attrs.get("data_format", "NHWC") == "NHWC", attrs.get("epsilon", 1e-5)
    first = np.moveaxis(x, -1, 1) if last else x
    groups = groups or attrs["num_groups"]
    parts = first.reshape(x.shape[0], groups, int(np.prod(x.shape[1:])) // groups)
    parts = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + epsilon)
    by_channel = (1, -1, *[1] * (x.ndim - 2))
    y = (parts.reshape(first.shape) * scale.reshape(by_channel) + offset.reshape(by_channel)).astype(F64)
    if inputs[0].dtype == F64 and x.ndim > 2 and y.size:
        op = "GroupNormalization" if "num_groups" in attrs else "InstanceNormalization"
        theirs = {"epsilon": epsilon, **({"num_groups": groups} if "num_groups" in attrs else {})}
        agree(y, run_onnx(op, [first.astype(F64), *inputs[1:]], theirs)[0], op, SINGLE)
    return (np.moveaxis(y, 1, -1) if last else y).astype(inputs[0].dtype)


def instance_reference(inputs, attrs):
    return groups_reference(inputs, attrs, inputs[1].shape[0])


def tf_group_norm(inputs, attrs):
    x, scale, offset = inputs
    last = attrs.get("data_format", "NHWC") == "NHWC"
    layer = keras.layers.GroupNormalization(attrs.get("num_groups", -1), axis=-1 if last else 1, epsilon=attrs.get("epsilon", 1e-5), dtype=x.dtype.name)
    layer.build(x.shape)
    layer.set_weights([scale.numpy(), offset.numpy()])
    return tf.convert_to_tensor(layer(x))


def norm_specials(r, make, attrs):
    """Rows with what is no number, and what rounds to 0."""
    for dtype in FLOATING:
        for k, value in enumerate(special_values(dtype)):
            inputs = [x.copy() for x in make(dtype)]
            for x in inputs:
                x.reshape(-1)[0] = value
            r.add(f"{dtype.name}_special_{k}", inputs, attrs, tolerance={**NEAR[dtype], "abs": 1e-3 if dtype in HALVES else 1e-5}, numpy_only=True)


def rms_norm():
    r = Recorder("RMSNorm", tf_op=tf_rms_norm, reference=rms_reference)
    for dtype in FLOATING:
        for shape, axis in (((5,), -1), ((3, 4), -1), ((2, 3, 5), 1), ((2, 3, 64), -1), ((1, 2, 2, 1, 2, 1, 2, 3), 7), ((2, 130), 1)):
            r.add(f"{dtype.name}_{'x'.join(map(str, shape))}_{axis}".replace("-", "m"),
                  [random_values(dtype, shape, "rms"), random_values(dtype, shape[axis % len(shape):], "rms", 1)], {"axis": axis, "epsilon": 0.01}, **near(dtype))
    norm_specials(r, lambda dtype: [random_values(dtype, (2, 3), "rms"), random_values(dtype, (3,), "rms")], {})
    r.add("float32_empty", [np.zeros((0, 3), F32), np.ones(3, F32)], numpy_only=True)
    x, one = random_values(F32, (2, 3), "rms"), np.ones(3, F32)
    r.our_error("axis_too_large", [x, one], {"axis": 2}, "axis=2")
    r.our_error("scale_too_short", [x, one[:2]], contains="scale must have shape [3]")
    r.our_error("scalar", [one[0], one])
    r.our_error("types_differ", [x, one.astype(F64)], contains="was expected to be a float32 tensor but is a float64 tensor")
    return r


def group_cases(r, sizes, attrs_of):
    for dtype in FLOATING:
        for shape, last, groups in sizes:
            channels = shape[-1 if last else 1]
            r.add(f"{dtype.name}_{'x'.join(map(str, shape))}_{int(last)}_{groups}",
                  [random_values(dtype, shape, "groups"), random_values(dtype, (channels,), "groups", 1), random_values(dtype, (channels,), "groups", 2)],
                  {**attrs_of(groups), "epsilon": 0.01, "data_format": "NHWC" if last else "NCHW"},
                  tolerance={k: 4 * v if k != "ulp" else v for k, v in {**NEAR[dtype], **({"abs": 2.5e-4} if dtype in HALVES else {})}.items()},
                  tf_tolerance=HALF_STEPS.get(dtype))
    norm_specials(r, lambda dtype: [random_values(dtype, (2, 3, 4), "groups"), *[random_values(dtype, (4,), "groups", k) for k in (1, 2)]], attrs_of(2))
    r.add("float32_empty_batch", [np.zeros((0, 3, 4), F32), np.ones(4, F32), np.zeros(4, F32)], attrs_of(2), numpy_only=True)
    x, one = random_values(F32, (2, 3, 4), "groups"), np.ones(4, F32)
    r.our_error("data_format", [x, one, one], {**attrs_of(2), "data_format": "HWC"}, "HWC")
    r.our_error("vector", [x[0, 0], one, one], attrs_of(2), "x must have a batch and channels, 2 dimensions or more, got [4]")
    r.our_error("scale_too_short", [x, one[:3], one], attrs_of(2), "scale must have shape [4]")
    r.our_error("offset_too_short", [x, one, one[:3]], attrs_of(2), "offset must have shape [4]")
    r.our_error("types_differ", [x, one.astype(F64), one], attrs_of(2), "was expected to be a float32 tensor but is a float64 tensor")


def group_norm():
    r = Recorder("GroupNorm", tf_op=tf_group_norm, reference=groups_reference)
    group_cases(r, (((2, 3, 3, 4), True, 2), ((2, 6, 2, 3), False, 3), ((2, 5), True, 1), ((1, 4, 33), False, 2), ((2, 1, 2, 1, 2, 1, 2, 2), True, 2)),
                lambda groups: {"num_groups": groups})
    x, one = random_values(F32, (2, 3, 4), "groups"), np.ones(4, F32)
    r.our_error("groups_do_not_divide", [x, one, one], {"num_groups": 3}, "num_groups is 3; a divisor of x's 4 channels is accepted")
    r.our_error("no_groups", [x, one, one], {"num_groups": 0}, "num_groups is 0; a divisor of x's 4 channels is accepted")
    return r


def instance_norm():
    r = Recorder("InstanceNorm", tf_op=tf_group_norm, reference=instance_reference)
    group_cases(r, (((2, 3, 3, 4), True, 4), ((2, 3, 2, 3), False, 3), ((1, 2, 65), False, 2), ((2, 1, 2, 1, 2, 1, 2, 5), False, 1)), lambda groups: {})
    return r


def build():
    return {"ScaledDotProductAttention": attention, "ScaledDotProductAttentionGrad": attention_grad, "RotaryEmbedding": rotary,
            "RMSNorm": rms_norm, "GroupNorm": group_norm, "InstanceNorm": instance_norm}
