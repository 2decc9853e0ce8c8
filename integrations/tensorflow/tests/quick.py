# SPDX-License-Identifier: Apache-2.0
"""Promise: The quick cases of all of the plug-in's test programs pass in one process.

The quick cases of all programs in one process, because most of a quick run is the start of TensorFlow."""

import sys

import harness
import memory  # first: it sets a limit before TensorFlow starts
import errors
import random_graphs
import training

program = harness.Program()
for module in (errors, training, random_graphs, memory):
    for name, size, *rest in module.program.cases:
        if size == harness.SIZES.index("quick"):
            program.cases.append((f"{module.__name__}.{name}", size, *rest))

if __name__ == "__main__":
    sys.exit(program.main())
