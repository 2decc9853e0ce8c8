# SPDX-License-Identifier: Apache-2.0
"""The folders of Gantry's C library, its headers and its files for pkg-config and CMake."""
import os

PREFIX = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(PREFIX, "include")
LIB = os.path.join(PREFIX, "lib")
PKG_CONFIG_PATH = os.path.join(LIB, "pkgconfig")
CMAKE_PREFIX_PATH = PREFIX
