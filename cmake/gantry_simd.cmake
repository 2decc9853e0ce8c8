# SPDX-License-Identifier: Apache-2.0
# Compiles each *_simd.c once per instruction set; the CPU backend chooses at run time. A single set
# (GANTRY_CPU_SIMD_BUILD) becomes the base, which the processor must support. Include gantry_flags.cmake first.
set(GANTRY_SIMD_FLAGS -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv)
check_c_compiler_flag(-fopenmp-simd GANTRY_HAS_OPENMP_SIMD) # the pragma for vectors alone, without OpenMP's library
# Loops over lanes have a constant length. Fully unrolled, they keep lanes in registers (a sum runs 1.2 times as
# fast). Without the second flag a loop that fills lanes becomes `rep stos`, which starts slowly: sums of float64 in rows
# of 100 took 1.3 times as long.
set(GANTRY_SIMD_PEELED reduce_cpu_simd)
# Short loops, whose speed follows their place in a cache line: rows of ArgMax took 1.25 times as long after the linker
# had moved them by 32 bytes. Aligned functions have one place, whatever is linked before them.
set(GANTRY_SIMD_ALIGNED argmax_cpu_simd)
# These files are many times slower without vectors, so the base set vectorizes them although it is built for size.
set(GANTRY_SIMD_BASE_HOT reduce_cpu_simd reduce_cpu_extreme_simd softmax_cpu_simd layer_norm_cpu_simd)

# A build of one set is for programs that count bytes. These files have many types, and programs call their ops seldom,
# or reading memory or drawing again takes most of their time: compiled for size, they are at most half as large.
set(GANTRY_SIMD_SMALL segment_cpu_simd draw_cpu_simd elementwise_cpu_rare_simd window_grad_cpu_simd scatter_cpu_simd)

# These files say themselves what becomes a vector. Their other loops are short, and half as large as plain code.
set(GANTRY_SIMD_EXPLICIT matmul_integer_cpu_simd)

# Tests run these long in each set. Only builds with AddressSanitizer ask for the machine's best set.
set(GANTRY_SIMD_OFTEN_RUN math_float32_loops_simd matmul_cpu_simd reduce_cpu_simd reduce_cpu_extreme_simd)
set(GANTRY_SIMD_BEST "")
if(GANTRY_SANITIZE STREQUAL "address" AND GANTRY_CPU_SIMD_BUILD STREQUAL "all")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} sh ${PROJECT_SOURCE_DIR}/scripts/simd-set
                  OUTPUT_VARIABLE GANTRY_SIMD_BEST OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

# The flags of one file for one instruction set.
function(gantry_simd_flags out variant stem)
  set(vectors ${GANTRY_VECTOR_FLAGS})
  if(GANTRY_HAS_OPENMP_SIMD)
    list(APPEND vectors -fopenmp-simd -DGANTRY_HAS_OPENMP_SIMD=1)
  endif()
  if(stem IN_LIST GANTRY_SIMD_PEELED AND NOT GANTRY_VECTOR_FLAGS STREQUAL -O3)
    list(APPEND vectors -fpeel-loops -fno-tree-loop-distribute-patterns)
  endif()
  if(stem IN_LIST GANTRY_SIMD_ALIGNED)
    list(APPEND vectors -falign-functions=64)
  endif()
  if(stem IN_LIST GANTRY_SIMD_EXPLICIT)
    list(APPEND vectors -fno-tree-vectorize)
  endif()
  set(base ${vectors})
  # When better sets exist, the base serves old machines and small builds, so it is compiled for size.
  if(GANTRY_SIMD_VARIANTS MATCHES avx2 OR (GANTRY_CPU_SIMD_BUILD STREQUAL "base" AND simd_sets MATCHES avx2))
    set(base -Os)
    if(stem IN_LIST GANTRY_SIMD_BASE_HOT)
      set(base -O2)
    endif()
  endif()
  if(stem IN_LIST GANTRY_SIMD_SMALL AND NOT GANTRY_CPU_SIMD_BUILD STREQUAL "all")
    set(base -Os)
  endif()
  # Sanitizer and debug builds need no speed here. No call leaves these loops, so no unwinding passes through them.
  if(GANTRY_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(vectors -Og)
    # The machine's best set runs nearly every test, so the others may be slow, and build in half of the time. No test
    # reaches a set that the machine lacks, so it is compiled without checks.
    list(FIND simd_sets "${variant}" at)
    list(FIND simd_sets "${GANTRY_SIMD_BEST}" best)
    if(GANTRY_SIMD_BEST AND at GREATER best)
      set(vectors -O0 -fno-sanitize=address,undefined)
    elseif(GANTRY_SIMD_BEST AND NOT variant STREQUAL GANTRY_SIMD_BEST AND NOT stem IN_LIST GANTRY_SIMD_OFTEN_RUN)
      set(vectors -O0)
      if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND vectors "SHELL:--param asan-instrumentation-with-call-threshold=0")
      endif()
    endif()
    set(base ${vectors})
  else()
    list(APPEND vectors -fno-asynchronous-unwind-tables)
    list(APPEND base -fno-asynchronous-unwind-tables)
  endif()
  set(sets_avx2 -mavx2 -mfma -mbmi2 -mf16c -mprfchw)
  set(sets_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mbmi2 -mf16c -mprfchw -mprefer-vector-width=512)
  # GCC takes stacks of 64-bit Windows for aligned to vectors, which they are not: the assembler makes moves unaligned.
  if(WIN32 AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND sets_avx2 -Wa,-muse-unaligned-vector-move)
    list(APPEND sets_avx512 -Wa,-muse-unaligned-vector-move)
  endif()
  set(flags_base ${base} ${sets_${GANTRY_CPU_SIMD_BUILD}})
  set(flags_avx2 ${vectors} ${sets_avx2})
  set(flags_avx512 ${vectors} ${sets_avx512})
  set(${out} ${flags_${variant}} PARENT_SCOPE)
endfunction()

set(GANTRY_SIMD_VARIANTS base)
set(simd_sets all base)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  list(APPEND simd_sets avx2 avx512)
endif()
list(FIND simd_sets "${GANTRY_CPU_SIMD_BUILD}" only)
if(only LESS 0)
  message(FATAL_ERROR "GANTRY_CPU_SIMD_BUILD is \"${GANTRY_CPU_SIMD_BUILD}\"; accepted on ${CMAKE_SYSTEM_PROCESSOR} are: ${simd_sets}")
elseif(only GREATER 0)
  # The code names a set by its number in kernels/common/cpu_simd.h.
  math(EXPR only "${only} - 1")
  add_compile_definitions(GANTRY_CPU_ONLY_SET=${only})
elseif("avx2" IN_LIST simd_sets)
  list(APPEND GANTRY_SIMD_VARIANTS avx2 avx512)
endif()

function(gantry_simd_objects out_objects)
  set(objects "")
  foreach(variant IN LISTS GANTRY_SIMD_VARIANTS)
    foreach(source IN LISTS ARGN)
      get_filename_component(stem ${source} NAME_WE)
      set(library gantry_simd_${variant}_${stem})
      gantry_simd_flags(flags ${variant} ${stem})
      add_library(${library} OBJECT ${source})
      gantry_target_flags(${library})
      target_compile_options(${library} PRIVATE ${GANTRY_SIMD_FLAGS} ${flags})
      target_compile_definitions(${library} PRIVATE GANTRY_CPU_VARIANT=${variant} GANTRY_BUILDING)
      target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/backends)
      list(APPEND objects $<TARGET_OBJECTS:${library}>)
    endforeach()
  endforeach()
  set(${out_objects} "${objects}" PARENT_SCOPE)
endfunction()
