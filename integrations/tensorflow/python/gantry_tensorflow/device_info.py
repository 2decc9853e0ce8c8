# SPDX-License-Identifier: Apache-2.0
"""True answers of tf.config for Gantry's devices.

TensorFlow answers get_memory_info with zeros and get_device_details with the plug-in's name, for the devices of every
plug-in that brings its own allocator. `install` replaces the answers for GPUs by Gantry's:

  tf.config.experimental.get_memory_info("GPU:0")      {"current": ..., "peak": ...}
  tf.config.experimental.reset_memory_stats("GPU:0")
  tf.config.experimental.get_device_details(gpu)       {"device_name": "NVIDIA H200 (cuda:0)", "compute_capability": (9, 0)}
"""

import ctypes
import functools
import re


def _open(library):
    plugin = ctypes.CDLL(library)
    plugin.gantry_tensorflow_memory.restype = ctypes.c_bool
    plugin.gantry_tensorflow_reset_memory.restype = ctypes.c_bool
    plugin.gantry_tensorflow_hardware.restype = ctypes.c_char_p
    plugin.gantry_tensorflow_capability.restype = ctypes.c_char_p
    return plugin


def _number(name):
    """The number of a GPU in "GPU:0", "/device:GPU:0" or a full name; None for anything else."""
    match = re.search(r"(?:^|[/:])GPU:(\d+)$", name, re.IGNORECASE)
    return int(match.group(1)) if match else None


def _ordinal(context, name):
    """The number among all GPUs of a logical device: programs may hide some."""
    number = _number(str(name))
    visible = context.get_visible_devices("GPU")
    return _number(visible[number].name) if number is not None and number < len(visible) else None


def _replace(owner, name, answer):
    """Lets answer(original, self, argument) stand in for a method."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def method(self, argument):
        return answer(original, self, argument)

    setattr(owner, name, method)


def install(library):
    """library: the path of libgantry_tensorflow.so."""
    from tensorflow.python.eager import context

    plugin = _open(library)

    def get_memory_info(original, self, device):
        usual = original(self, device)
        ordinal, current, peak = _ordinal(self, device), ctypes.c_uint64(), ctypes.c_uint64()
        if ordinal is None or not plugin.gantry_tensorflow_memory(ordinal, ctypes.byref(current), ctypes.byref(peak)):
            return usual
        return {"current": current.value, "peak": peak.value}

    def reset_memory_stats(original, self, device):
        self.ensure_initialized()
        ordinal = _ordinal(self, device)
        if ordinal is None or not plugin.gantry_tensorflow_reset_memory(ordinal):
            original(self, device)

    def get_device_details(original, self, device):
        details = original(self, device)
        ordinal = _number(device.name)
        if ordinal is None:
            return details
        details["device_name"] = plugin.gantry_tensorflow_hardware(ordinal).decode() or details.get("device_name", "")
        capability = plugin.gantry_tensorflow_capability(ordinal).decode().split(".")
        if len(capability) == 2:
            details["compute_capability"] = (int(capability[0]), int(capability[1]))
        return details

    _replace(context.Context, "get_memory_info", get_memory_info)
    _replace(context.Context, "reset_memory_stats", reset_memory_stats)
    _replace(context.Context, "get_device_details", get_device_details)
