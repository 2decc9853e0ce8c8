# SPDX-License-Identifier: Apache-2.0
# One set of warnings and floating-point rules for every target.
function(gantry_target_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
                         -ffp-contract=off)
  # The 387 unit of 32-bit x86 rounds to other bits.
  if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86|i[3-6]86|AMD64")
    target_compile_options(${target} PRIVATE -msse2 -mfpmath=sse)
  endif()
  # In the strict C of s390x GCC computes floats as doubles.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "s390" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fexcess-precision=fast)
  endif()
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # The code truncates texts on purpose. GCC's warning about truncation depends on the length of the build path.
    target_compile_options(${target} PRIVATE -Wno-format-truncation)
    # GCC judges formats of Windows by its old C library, which the texts are not made with, and warns of isfinite there.
    if(WIN32)
      target_compile_options(${target} PRIVATE -Wno-format -Wno-float-conversion)
    endif()
  elseif(CMAKE_C_COMPILER_ID MATCHES "Clang")
    # Clang counts what GCC does not: enums of another sign, designated initializers, flags that only GCC heeds.
    target_compile_options(${target} PRIVATE -Wno-missing-field-initializers -Wno-sign-conversion -Wno-ignored-optimization-argument)
  endif()
  if(GANTRY_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Texts are written by the functions that know C's formats, not by those of the system's old library, and with the names of
# Windows 10.
if(WIN32)
  add_compile_definitions(__USE_MINGW_ANSI_STDIO=1 _WIN32_WINNT=0x0A00 WIN32_LEAN_AND_MEAN)
  add_link_options(-static) # of libraries of the compiler; DLLs of this build are linked by their import libraries
endif()

# This vectorizes without the loop copies of -O3: half the code size, and the same speed for nearly every file. Only loops
# are aligned.
include(CheckCCompilerFlag)
set(GANTRY_VECTOR_FLAGS -O2 -ftree-vectorize -fvect-cost-model=dynamic --param=vect-epilogues-nomask=0 -fno-align-functions
    -fno-align-jumps -fno-align-labels)
list(JOIN GANTRY_VECTOR_FLAGS " " flags)
check_c_compiler_flag("${flags}" GANTRY_HAS_VECT_COST_MODEL)
if(NOT GANTRY_HAS_VECT_COST_MODEL)
  set(GANTRY_VECTOR_FLAGS -O3)
endif()

# -Og builds in two thirds of the time of -O1, and with -g1 reports name the same lines. UndefinedBehaviorSanitizer traps,
# because the records of its messages are two thirds of the library, which each process relocates: `gantry devices` took
# three times as long. With ASAN_OPTIONS=handle_sigill=1 a trap names its line.
if(GANTRY_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fsanitize-undefined-trap-on-error -Og -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(GANTRY_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -Og -g1)
  add_link_options(-fsanitize=thread)
elseif(GANTRY_SANITIZE STREQUAL "undefined")
  # Clang alone sees offsets of null pointers, and truncations that no cast asks for.
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "GANTRY_SANITIZE is \"undefined\", which needs Clang; the compiler is ${CMAKE_C_COMPILER}")
  endif()
  set(sanitizers -fsanitize=undefined,local-bounds,implicit-integer-truncation)
  add_compile_options(${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(${sanitizers})
elseif(NOT GANTRY_SANITIZE STREQUAL "")
  message(FATAL_ERROR "GANTRY_SANITIZE is \"${GANTRY_SANITIZE}\"; accepted are address, thread, undefined (Clang), or nothing")
endif()
