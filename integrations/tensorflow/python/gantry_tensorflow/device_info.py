# SPDX-License-Identifier: Apache-2.0
"""True answers of tf.config for Gantry's devices.

TensorFlow answers get_memory_info with zeros and get_device_details with the plug-in's name, for the devices of every
plug-in that brings its own allocator. `install` replaces the answers for GPUs by Gantry's:

  tf.config.experimental.get_memory_info("GPU:0")      {"current": ..., "peak": ...}
  tf.config.experimental.reset_memory_stats("GPU:0")
  tf.config.experimental.get_device_details(gpu)       {"device_name": "NVIDIA H200 (cuda:0)", "compute_capability": (9, 0)}
  device_lib.list_local_devices(), Session.list_devices()     memory_limit of each GPU, which is 0 without this module
"""

import ctypes
import functools
import re


def open_library(library):
    """The plug-in's functions. library: the path of libgantry_tensorflow.so."""
    plugin = ctypes.CDLL(library)
    plugin.gantry_tensorflow_limit.restype = ctypes.c_bool
    plugin.gantry_tensorflow_card.restype = ctypes.c_char_p
    plugin.gantry_tensorflow_oom_report.restype = ctypes.c_size_t
    plugin.gantry_tensorflow_oom_report.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    plugin.gantry_tensorflow_memory.restype = ctypes.c_bool
    plugin.gantry_tensorflow_reset_memory.restype = ctypes.c_bool
    plugin.gantry_tensorflow_hardware.restype = ctypes.c_char_p
    plugin.gantry_tensorflow_capability.restype = ctypes.c_char_p
    return plugin


def limit_of(plugin, ordinal):
    """The most bytes that a GPU may hold; None if there is no such GPU."""
    limit = ctypes.c_uint64()
    return limit.value if plugin.gantry_tensorflow_limit(ordinal, ctypes.byref(limit)) else None


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
    """Replaces a method by answer(original, self, argument)."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def method(self, argument):
        return answer(original, self, argument)

    setattr(owner, name, method)


def _install_limits(plugin):
    """TensorFlow gives the limit of a plug-in's device as 0 wherever it lists devices. That of a server's stays 0, because
    its devices may be another process's."""
    from tensorflow.python.client import device_lib, session

    def limit(name, config):
        number = _number(name)
        shown = config.gpu_options.visible_device_list.split(",") if config else []
        if number is not None and number < len(shown) and shown[number].strip().isdigit():
            number = int(shown[number])
        return None if number is None else limit_of(plugin, number)

    list_local, list_session = device_lib.list_local_devices, session.BaseSession.list_devices

    @functools.wraps(list_local)
    def list_local_devices(session_config=None):
        found = list_local(session_config)
        for device in found:
            device.memory_limit = device.memory_limit or limit(device.name, session_config) or 0
        return found

    @functools.wraps(list_session)
    def list_devices(self):
        if self._target:
            return list_session(self)
        return [session._DeviceAttributes(device.name, device.device_type, device.memory_limit_bytes or limit(
            device.name, self._config) or 0, device.incarnation) for device in list_session(self)]

    device_lib.list_local_devices = list_local_devices
    session.BaseSession.list_devices = list_devices


def install(plugin):
    """plugin: of open_library."""
    from tensorflow.python.eager import context

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

    _install_limits(plugin)
    _replace(context.Context, "get_memory_info", get_memory_info)
    _replace(context.Context, "reset_memory_stats", reset_memory_stats)
    _replace(context.Context, "get_device_details", get_device_details)
