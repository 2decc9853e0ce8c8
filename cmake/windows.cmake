# SPDX-License-Identifier: Apache-2.0
# Toolchain that cross-compiles for 64-bit Windows by MinGW-w64. scripts/test-platforms uses it.
# GANTRY_TEST_WINDOWS_ROOT names the folder with the libraries that Debian does not have for Windows.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc)
find_program(CMAKE_CROSSCOMPILING_EMULATOR wine)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_FIND_ROOT_PATH $ENV{GANTRY_TEST_WINDOWS_ROOT} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
