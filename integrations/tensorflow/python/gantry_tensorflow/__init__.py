# SPDX-License-Identifier: Apache-2.0
"""Gantry's devices as GPUs of TensorFlow.

TensorFlow loads the plug-in by itself: a program needs no import of this package. `python -m gantry_tensorflow` has the
commands. The import needs no TensorFlow.
"""

from gantry_tensorflow.op_report import format_report, oom_report, report
from gantry_tensorflow.places import VERSION as __version__

__all__ = ["__version__", "format_report", "oom_report", "report"]
