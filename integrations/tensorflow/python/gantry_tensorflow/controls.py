# SPDX-License-Identifier: Apache-2.0
"""A control of TensorFlow that does nothing for a plug-in's devices: one warning, with the variable that does."""

import warnings

MEBIBYTES = 1024  # the part of an example, where the program names no limit


def remedy(device, parts):
    """The environment variable for what the program asked of a GPU; None if it asked for what holds anyway."""
    name = device.name.replace("/physical_device:", "")
    limits = [f"{part.memory_limit or MEBIBYTES:g}M" for part in parts]
    if len(limits) == 1:
        return f'GANTRY_MEMORY_LIMIT="{name}={limits[0]}"' if parts[0].memory_limit else None
    return f'GANTRY_LOGICAL_DEVICES="{name}={",".join(limits)}"'


def install():
    """Called once, when TensorFlow loads the plug-in."""
    from tensorflow.python.eager import context

    configure = context.Context.set_logical_device_configuration
    warned = []

    def set_logical_device_configuration(self, device, parts):
        configure(self, device, parts)
        setting = remedy(device, parts) if device.device_type == "GPU" and not warned else None
        if setting:
            warned.append(True)
            warnings.warn(f"tf.config.set_logical_device_configuration does nothing for {device.name}: TensorFlow neither "
                          f"splits nor limits the devices of a plug-in. Start the program with {setting}", stacklevel=3)

    context.Context.set_logical_device_configuration = set_logical_device_configuration
