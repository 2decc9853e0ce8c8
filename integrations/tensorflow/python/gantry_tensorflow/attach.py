# SPDX-License-Identifier: Apache-2.0
"""The plug-in calls attach() while `import tensorflow` loads it (src/python_hook.c)."""

from gantry_tensorflow import controls, ctc, device_info, jit, op_report


def attach(library):
    """library: the path of libgantry_tensorflow.so."""
    plugin = device_info.open_library(library)
    jit.install()
    controls.install(plugin)
    ctc.install()
    device_info.install(plugin)
    op_report.install(library)
