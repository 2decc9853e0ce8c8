# SPDX-License-Identifier: Apache-2.0
"""The cases of --models: ONNX files of a folder, with the inputs and tolerances of tests/onnx/model_inputs.py."""

import glob
import os
import sys

from peers_process import HERE

sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "onnx"))
LEAST = (1 / 1.4, None)  # no model takes more than 1.4 of ONNX Runtime's time


def right(path, inputs):
    """ONNX Runtime's outputs, by a session of one thread that ends here"""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))


def model_cases(case):
    """case: peer_cases.Case; for each file of PEERS_MODELS as many as it has choices of inputs"""
    folder = os.environ.get("PEERS_MODELS")
    if not folder:
        return []
    import model_inputs

    def one(path, model, number):
        return case(
            f"{model}/{number}",
            "model",
            f"model {os.path.getsize(path) / 2**20:.1f} MiB",
            "us",
            1,
            lambda random: list(list(model_inputs.cases_of(model, path))[number].values()),
            lambda *inputs: right(path, inputs),
            params={"path": path},
            differs=lambda want, got: model_inputs.difference(want, got, model_inputs.tolerance_of(path)),
            least=LEAST,
        )

    named = [(path, os.path.basename(path)[:-5]) for path in sorted(glob.glob(os.path.join(folder, "*.onnx")))]
    return [one(path, model, k) for path, model in named for k in range(len(model_inputs.found_of(model)))]
