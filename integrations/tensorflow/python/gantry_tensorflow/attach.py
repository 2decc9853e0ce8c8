# SPDX-License-Identifier: Apache-2.0
"""The plug-in calls attach() while `import tensorflow` loads it (src/python_hook.c)."""

from gantry_tensorflow import controls, ctc, device_info, jit, op_report


def attach(library):
    """library: the path of libgantry_tensorflow.so."""
    jit.install()
    controls.install()
    ctc.install()
    device_info.install(library)
    op_report.install(library)
