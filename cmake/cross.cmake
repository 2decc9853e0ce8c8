# SPDX-License-Identifier: Apache-2.0
# Toolchain that cross-compiles for Linux on another architecture with Debian's compilers. scripts/test-arch passes:
#   GANTRY_CROSS_TRIPLE      the compiler's prefix, and the folder of the C library below /usr
#   GANTRY_CROSS_PROCESSOR   CMake's name of the processor
#   GANTRY_CROSS_MULTIARCH   the folder of libraries in Debian's packages
#   GANTRY_CROSS_ROOT        the folder with the unpacked packages
#   GANTRY_CROSS_LOADER      the C library's loader
#   GANTRY_CROSS_EMULATOR    the emulator with its arguments; empty: none
set(names TRIPLE PROCESSOR MULTIARCH ROOT LOADER EMULATOR)
foreach(name IN LISTS names)
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GANTRY_CROSS_${name})
endforeach()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${GANTRY_CROSS_PROCESSOR})
set(CMAKE_C_COMPILER ${GANTRY_CROSS_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${GANTRY_CROSS_TRIPLE}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${GANTRY_CROSS_MULTIARCH})
set(CMAKE_FIND_ROOT_PATH ${GANTRY_CROSS_ROOT}/usr /usr/${GANTRY_CROSS_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${GANTRY_CROSS_EMULATOR})
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--dynamic-linker=${GANTRY_CROSS_LOADER} -Wl,--disable-new-dtags")
set(CMAKE_BUILD_RPATH ${GANTRY_CROSS_ROOT}/usr/lib/${GANTRY_CROSS_MULTIARCH} /usr/${GANTRY_CROSS_TRIPLE}/lib)
