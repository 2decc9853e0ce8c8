# SPDX-License-Identifier: Apache-2.0
"""A control of TensorFlow that does nothing for a plug-in's devices: one warning, with the variable that does.

A program that was started with this variable is not warned."""

import itertools
import os
import warnings

from gantry_tensorflow import device_info

MEBIBYTES = 1024  # the part of an example, where the program names no limit
SETTINGS = ("GANTRY_LOGICAL_DEVICES", "GANTRY_MEMORY_LIMIT")


def remedy(card, parts):
    """The environment variable for what the program requested of a GPU; None if it requested what holds anyway.
    card: "/physical_device:GPU:0"."""
    name = card.replace("/physical_device:", "")
    limits = [f"{part.memory_limit or MEBIBYTES:g}M" for part in parts]
    if len(limits) == 1:
        return f'GANTRY_MEMORY_LIMIT="{name}={limits[0]}"' if parts[0].memory_limit else None
    return f'GANTRY_LOGICAL_DEVICES="{name}={",".join(limits)}"'


def is_followed(plugin, ordinal, parts):
    """Whether the GPU's card is one that a variable split or limited as the program requests."""
    if not any(os.environ.get(setting) for setting in SETTINGS):
        return False  # and no card is opened to find out
    card = plugin.gantry_tensorflow_card(ordinal)
    limits = [device_info.limit_of(plugin, i) for i in itertools.takewhile(plugin.gantry_tensorflow_card, itertools.count())
              if plugin.gantry_tensorflow_card(i) == card]
    return limits == [int((part.memory_limit or 0) * 1048576) for part in parts]


def install(plugin):
    """Called once, when TensorFlow loads the plug-in. plugin: of device_info.open_library."""
    from tensorflow.python.eager import context

    configure = context.Context.set_logical_device_configuration
    warned = []

    def set_logical_device_configuration(self, device, parts):
        configure(self, device, parts)
        if device.device_type != "GPU" or warned:
            return
        ordinal = int(device.name.rsplit(":", 1)[1])
        setting = remedy(plugin.gantry_tensorflow_card(ordinal).decode() or device.name, parts)
        if setting and not is_followed(plugin, ordinal, parts):
            warned.append(True)
            warnings.warn(f"tf.config.set_logical_device_configuration does nothing for {device.name}: TensorFlow neither "
                          f"splits nor limits the devices of a plug-in. Start the program with {setting}", stacklevel=3)

    context.Context.set_logical_device_configuration = set_logical_device_configuration
