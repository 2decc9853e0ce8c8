# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime with Gantry's provider on /CPU:0: models only.

A session is made as a program makes it, with ONNX Runtime's own passes before the provider sees the graph.
"""

import os
import sys

import numpy as np
import onnxruntime
from peers_process import HERE

sys.path.insert(0, os.path.join(HERE, "..", "..", "integrations", "onnxruntime", "python"))
import onnxruntime_ep_gantry as gantry
from peer_onnxruntime import binding_of

REST = "a provider, for models"
threads = 1


def open_peer(count):
    global threads
    threads = count
    os.environ["GANTRY_ORT_LIBRARY"] = os.path.join(os.environ["GANTRY_BUILD"], "lib", "libgantry_onnxruntime.so")
    os.environ["GANTRY_CPU_THREADS"] = str(count)
    gantry.register(cpu=True)
    return f"ONNX Runtime {onnxruntime.__version__} with Gantry's provider"


def put(array):
    return np.asarray(array)


def fetch(binding):
    return binding.copy_outputs_to_cpu()


def case_model(*inputs, path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return binding_of(gantry.session(path, "/CPU:0", options), inputs, binds_anew=True)
