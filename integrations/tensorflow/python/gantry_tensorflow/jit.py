# SPDX-License-Identifier: Apache-2.0
"""XLA's place in a TensorFlow process with Gantry's devices.

XLA has no compiler for a plug-in's devices: TensorFlow fails with "Could not find compiler for
platform GANTRY". Keras requests XLA by default as soon as a GPU is listed, so that an unmodified
`fit` would fail. `install` changes two answers, as long as a Gantry GPU is visible:

  Keras       "does this model support XLA?" is no. The default jit_compile="auto" then becomes
              False; for jit_compile=True, Keras warns with its own text and goes on without XLA.
  tf.function jit_compile=True runs as if it were not given. One warning says so.

GANTRY_TF_JIT=error makes tf.function(jit_compile=True) fail with the reason; GANTRY_TF_JIT=xla
changes nothing. Programs whose GPUs are hidden (tf.config.set_visible_devices([], "GPU")) keep
XLA for the CPU.
"""

import importlib.abc
import importlib.util
import os
import sys
import warnings

SETTING = "GANTRY_TF_JIT"
MODES = ("run", "error", "xla")

_KERAS_TRAINERS = ("keras.src.trainers.trainer",)

WARNING = (
    "tf.function(jit_compile=True): XLA has no compiler for Gantry's devices; the function runs "
    "without XLA. Set GANTRY_TF_JIT=error to make this an error, or hide the GPUs "
    '(tf.config.set_visible_devices([], "GPU")) to run with XLA on the CPU.'
)
ERROR = (
    "tf.function(jit_compile=True): XLA has no compiler for Gantry's devices, and "
    "GANTRY_TF_JIT=error is set. Leave jit_compile out, or set GANTRY_TF_JIT=run."
)


def mode():
    """The value of GANTRY_TF_JIT; a value that is none of MODES warns and counts as "run"."""
    value = os.environ.get(SETTING, "") or "run"
    if value in MODES:
        return value
    warnings.warn(f'{SETTING} is "{value}"; accepted are {", ".join(MODES)}. "run" is used.')
    return "run"


def has_visible_gpu():
    """Whether TensorFlow lists a GPU that the program did not hide. With the plug-in, all GPUs of
    TensorFlow are Gantry's."""
    from tensorflow.python.framework import config

    return bool(config.get_visible_devices("GPU"))


def _is_library(path):
    tensorflow = os.path.dirname(sys.modules["tensorflow"].__file__) + os.sep
    return path.startswith(tensorflow) or path == __file__


def _user_level():
    """The stacklevel of the caller's first frame outside TensorFlow, for a warning of the caller."""
    frame, level = sys._getframe(1), 1
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level if frame is not None else 2


def _hook_function(mode_now):
    from tensorflow.python.eager.polymorphic_function import polymorphic_function
    from tensorflow.python.framework import errors

    function = polymorphic_function.Function
    warned = []

    def read(self):
        wanted = self.__dict__.get("_jit_compile")
        if not wanted or not has_visible_gpu():
            return wanted
        if mode_now == "error":
            raise errors.UnimplementedError(None, None, ERROR)
        if not warned:
            warned.append(True)
            warnings.warn(WARNING, stacklevel=_user_level())
        return None

    def write(self, wanted):
        self.__dict__["_jit_compile"] = wanted

    function._jit_compile = property(read, write)


def _hook_keras(trainer):
    """trainer: the module keras.src.trainers.trainer."""
    supports = getattr(trainer, "model_supports_jit", None)
    if supports is None:
        return

    def model_supports_jit(model):
        if trainer.backend.backend() == "tensorflow" and has_visible_gpu():
            return False
        return supports(model)

    trainer.model_supports_jit = model_supports_jit


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls _hook_keras when Keras's trainer has been imported; then it does nothing more."""

    def find_spec(self, name, path=None, target=None):
        if name not in _KERAS_TRAINERS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            _hook_keras(module)

        spec.loader.exec_module = exec_module
        return spec


def install():
    """Called once, when TensorFlow loads the plug-in. Returns whether anything was changed."""
    mode_now = mode()
    if mode_now == "xla":
        return False
    _hook_function(mode_now)
    loaded = [sys.modules[name] for name in _KERAS_TRAINERS if name in sys.modules]
    if loaded:
        _hook_keras(loaded[0])
    else:
        sys.meta_path.insert(0, _AfterImport())
    return True
