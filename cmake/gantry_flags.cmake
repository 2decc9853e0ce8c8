# SPDX-License-Identifier: Apache-2.0
# One set of warnings and floating-point rules for every target.
function(gantry_target_flags target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
                         -ffp-contract=off)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # Texts are cut to fit on purpose, and whether gcc can prove it depends on the length of the build's path.
    target_compile_options(${target} PRIVATE -Wno-format-truncation)
  endif()
  if(GANTRY_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Vectors, but not the copies of loops for every odd case that -O3 makes: half of the code, and as fast but for few files.
include(CheckCCompilerFlag)
set(GANTRY_VECTOR_FLAGS -O2 -ftree-vectorize -fvect-cost-model=dynamic --param=vect-epilogues-nomask=0)
list(JOIN GANTRY_VECTOR_FLAGS " " flags)
check_c_compiler_flag("${flags}" GANTRY_HAS_VECT_COST_MODEL)
if(NOT GANTRY_HAS_VECT_COST_MODEL)
  set(GANTRY_VECTOR_FLAGS -O3)
endif()

# -O1 -g1: half of the time to build of -O2 -g, and reports name the same lines.
if(GANTRY_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined -O1 -g1)
  add_link_options(-fsanitize=address,undefined)
elseif(GANTRY_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -O1 -g1)
  add_link_options(-fsanitize=thread)
elseif(NOT GANTRY_SANITIZE STREQUAL "")
  message(FATAL_ERROR "GANTRY_SANITIZE is \"${GANTRY_SANITIZE}\"; accepted are address, thread, or nothing")
endif()
