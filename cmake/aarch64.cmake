# SPDX-License-Identifier: Apache-2.0
# Toolchain that cross-compiles for 64-bit Arm; qemu-user runs the programs. scripts/test-aarch64 uses this file.
# GANTRY_TEST_AARCH64_ROOT names the folder with the unpacked packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH $ENV{GANTRY_TEST_AARCH64_ROOT}/usr /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
