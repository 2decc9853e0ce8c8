# SPDX-License-Identifier: Apache-2.0
"""Gantry's devices in ONNX Runtime.

    import onnxruntime_ep_gantry as gantry
    session = gantry.session("model.onnx")            # on Gantry's first device
    session.run(None, inputs)

or with ONNX Runtime's own calls:

    import onnxruntime, onnxruntime_ep_gantry as gantry
    gantry.register()
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(gantry.devices()[:1], {})
    session = onnxruntime.InferenceSession("model.onnx", options)
"""
import os
import weakref

NAME = "GantryExecutionProvider"
VENDOR_ID = 0x10000  # of Gantry's devices and of their memory, for calls that take a device as "gpu", a number and this
_LIBRARY = "libgantry_onnxruntime.so"
_registered = []
_given = weakref.WeakKeyDictionary()  # of SessionOptions: the device and the options


def get_library_path():
    """The file that ONNX Runtime opens. GANTRY_ORT_LIBRARY names another one."""
    return os.environ.get("GANTRY_ORT_LIBRARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", _LIBRARY)


def get_ep_name():
    """The provider's name."""
    return NAME


def get_ep_names():
    """The names of all providers in the file."""
    return [NAME]


def register(cpu=False):
    """Makes Gantry's devices known to ONNX Runtime, once. cpu: offers /CPU:0, too."""
    import onnxruntime

    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise RuntimeError(f"onnxruntime {onnxruntime.__version__} takes no providers of others; 1.24 and newer are accepted")
    name = "gantry.cpu" if cpu else "gantry"
    if not _registered:
        onnxruntime.register_execution_provider_library(name, get_library_path())
        _registered.append(name)
    elif cpu and not any(device.ep_metadata.get("gantry_device") == "/CPU:0" for device in devices()):
        raise RuntimeError("Gantry is registered without /CPU:0; call register(cpu=True) before everything else")


def unregister():
    """Takes the devices away. Sessions that use them run on; what devices() returned must not be used any more."""
    import onnxruntime

    while _registered:
        onnxruntime.unregister_execution_provider_library(_registered.pop())


def devices():
    """Gantry's devices, for SessionOptions.add_provider_for_devices. ep_metadata["gantry_device"] is "/GPU:0"."""
    import onnxruntime

    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def _find(device):
    found = devices()
    names = [each.ep_metadata.get("gantry_device") for each in found]
    if not found:
        raise RuntimeError('Gantry found no GPU; device="/CPU:0" computes on the CPU')
    if device is None:
        return found[0]
    if device not in names:
        raise ValueError(f'device "{device}" is none of {", ".join(names)}')
    return found[names.index(device)]


def _give_device(settings, device, options):
    """Adds the device once: ONNX Runtime takes none away from SessionOptions, and refuses a second one."""
    found = _find(device)
    texts = {key: str(value) for key, value in options.items()}
    wanted = {"chosen": found.ep_metadata.get("gantry_device"), **texts}
    given = _given.get(settings)
    if given is None:
        settings.add_provider_for_devices([found], texts)
        _given[settings] = wanted
    elif given != wanted:
        raise ValueError(f"session_options are for {given}; a session with {wanted} needs SessionOptions of its own")


def session(path_or_bytes, device=None, session_options=None, **options):
    """An onnxruntime.InferenceSession on a device of Gantry: "/GPU:1"; None: the first GPU. options: of the provider, such
    as report="left.txt", a file that gets a line for each node that Gantry leaves to ONNX Runtime. session_options get the
    device and the options, and serve other sessions with the same ones only."""
    import onnxruntime

    register(cpu=device == "/CPU:0")
    settings = session_options or onnxruntime.SessionOptions()
    _give_device(settings, device, options)
    # Older versions answer an error of a provider by a session on the CPU, with a line on standard output.
    return onnxruntime.InferenceSession(path_or_bytes, settings, enable_fallback=0)


def _memory_of(device):
    """The arguments of onnxruntime.OrtDevice.make for the memory of a device."""
    name = _find(device).ep_metadata.get("gantry_device")
    return ("cpu", 0) if name == "/CPU:0" else ("gpu", int(name.rpartition(":")[2]), VENDOR_ID)


def value(array, device=None):
    """An onnxruntime.OrtValue with the elements of a NumPy array in the memory of a device of Gantry: "/GPU:1"; None: the
    first GPU."""
    import onnxruntime

    register(cpu=device == "/CPU:0")
    return onnxruntime.OrtValue.ortvalue_from_numpy(array, *_memory_of(device))


def bind_output(binding, name, device=None):
    """binding.bind_output for the memory of a device of Gantry, which that call has no argument for: each run makes the
    output there, whatever its shape is."""
    import onnxruntime

    binding._iobinding.bind_output(name, onnxruntime.OrtDevice.make(*_memory_of(device))._get_c_device())


def explain(path_or_bytes, device=None):
    """Lines that say how many nodes of a model Gantry takes, and why it leaves each other one."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        session(path_or_bytes, device, report=report)
        with open(report, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
