# SPDX-License-Identifier: Apache-2.0
# Promise (check_gpu): scripts/check-gpu runs completely on the stand-in and writes its report, which begins with a
# summary and what is wrong.
# Promise (check_gpu): Each part of a card (MIG) that nvidia-smi lists is one that Gantry lists where CUDA_VISIBLE_DEVICES
# names it.
# Promise (check_gpu): scripts/check-gpu --peers writes its table into the report before it, names the frameworks that
# are missing or fail to import, and without a figure leaves the report as it was.
#
# Runs scripts/check-gpu on the stand-in. With a card, every step passes. With a tool that finds a hazard, the page
# begins with the hazard. Other runs have a card that OpenCL sees too (in part), PoCL as the only card, and no card,
# which the exit code reports. Then the bench alone must notice a driver whose reads fail, and products of too few
# bits.
set(ENV{POCL_CACHE_DIR} ${POCL_CACHE})
set(ENV{GANTRY_KERNEL_CACHE} ${WORK_DIR}/kernel_cache)

# check_gpu(NAME CODE settings ARGUMENTS...): stores the report's text in `report`, and the text of the bench's file
# in `figures`.
function(check_gpu name wanted_code settings)
  set(ENV{GANTRY_STAND_IN_CUDA} "${settings}")
  file(REMOVE_RECURSE ${WORK_DIR}/${name})
  execute_process(COMMAND sh ${SOURCE_DIR}/scripts/check-gpu --stand-in --build ${BUILD_DIR} --out ${WORK_DIR}/${name} ${ARGN}
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT code EQUAL wanted_code)
    message(FATAL_ERROR "${name}: exit code ${code}, not ${wanted_code}")
  endif()
  file(GLOB reports ${WORK_DIR}/${name}/stand-in-*.md)
  list(LENGTH reports count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "${name}: ${count} reports in ${WORK_DIR}/${name}, not one")
  endif()
  file(READ ${reports} text)
  set(report "${text}" PARENT_SCOPE)
  set(text "")
  file(GLOB json ${WORK_DIR}/${name}/stand-in-*.json)
  if(json)
    file(READ ${json} text)
  endif()
  set(figures "${text}" PARENT_SCOPE)
endfunction()

function(expect text)
  foreach(line IN LISTS ARGN)
    string(FIND "${text}" "${line}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "the report has no \"${line}\"")
    endif()
  endforeach()
endfunction()

# sanitizer(NAME TEXT CODE): makes a compute-sanitizer that only records its arguments; its race check prints TEXT and
# ends with CODE.
function(sanitizer name text code)
  file(WRITE ${WORK_DIR}/${name} "#!/bin/sh
echo \"$*, cuBLASLt: $GANTRY_CUDA_CUBLAS\" >>'${WORK_DIR}/sanitized'
tool=\"$*\"
while [ \"\${1#--}\" != \"$1\" ]; do shift 2; done
\"$@\" || exit 1
[ \"\${tool#*racecheck}\" = \"$tool\" ] || { echo '${text}'; exit ${code}; }
")
  execute_process(COMMAND chmod +x ${WORK_DIR}/${name})
  file(REMOVE ${WORK_DIR}/sanitized)
  set(ENV{GANTRY_TEST_SANITIZER} ${WORK_DIR}/${name})
endfunction()

sanitizer(sanitizer_good "no hazard" 0)
check_gpu(one 0 "devices=2;memory=2G;report=1")
expect("${report}" "# STAND-IN: no figures of a card" "| card | Stand-in for an NVIDIA GPU |" "| CUDA | driver of CUDA 12.9, 2 devices |"
       "## Summary\n\n**What runs.** " " steps passed, 0 failed, " "No figure of a card is on this page."
       "## What is wrong\n\nNo step failed.\n\nNot checked:\n\n- conformance on the OpenCL view: the card has none here"
       "| compute-sanitizer: racecheck | passed |" "| compute-sanitizer: synccheck | passed |" "| compute-sanitizer: memcheck | passed |"
       "0 of them failed, " "| gantry devices | passed |" "| bench: card_launch | passed |" "| bench: card_matmul, float32 | passed |"
       "| random functions on cuda:0 | passed |" "| products with bias and Relu on cuda:0 | passed |"
       "| shapes that depend on data on cuda:0 | passed |" "| bad data in functions on cuda:0 | passed |" "| fused programs on cuda:0 | passed |"
       "| float32 functions: the CPU's bits, 1 of 4096 parts of all inputs | passed |" "| example functions | passed |"
       "| conformance on cuda:0 | passed |" "| conformance over a context and queue of the program | passed |" "| two processes, 0.4 of the card each | passed |"
       "| without cuBLASLt: products on cuda:0 | passed |" "| the second of two logical devices | passed |"
       "reason: GANTRY_CUDA_LIBRARY cannot be opened"
       "| example memory_control | passed |" "None is judged on the stand-in." "| `unset` | 2 cards |" "| `0` | 1 cards |" "| `-1` | 0 cards |"
       "times are not those of a card" "card_matmul   float32, n = 64")
set(first_report "${report}")
if(report MATCHES "MISSED|reached|WRONG RESULT|stand-in for CUDA:")
  message(FATAL_ERROR "the report judges the stand-in's figures, a result was wrong, or the driver complained of a call")
endif()
string(JSON rows LENGTH "${figures}" rows)
if(rows LESS 20)
  message(FATAL_ERROR "the figures have ${rows} rows, fewer than the cases make")
endif()
foreach(case card_launch card_function card_transfer card_stream card_matmul card_start)
  expect("${figures}" "\"case\": \"${case}\"")
endforeach()

file(READ ${WORK_DIR}/sanitized sanitized)
foreach(tool racecheck synccheck memcheck)
  expect("${sanitized}" "--tool ${tool} --error-exitcode 9 ${BUILD_DIR}/bin/gantry_conformance --device cuda:0")
endforeach()
expect("${sanitized}" "--only Sum,ArgMax,Softmax,LayerNorm,MatMul,Transpose" ", cuBLASLt: /none")

# peers(CODE PACKAGES LINES...): measures against the frameworks of a folder, into the page of the run before; stores the
# page in `report`. The output must contain the lines.
function(peers wanted_code packages)
  set(ENV{GANTRY_TEST_PEER_PACKAGES} ${packages})
  execute_process(COMMAND sh ${SOURCE_DIR}/scripts/check-gpu --stand-in --peers --build ${BUILD_DIR} --out ${WORK_DIR}/one
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT code EQUAL wanted_code)
    message(FATAL_ERROR "--peers ${packages}: exit code ${code}, not ${wanted_code}")
  endif()
  expect("${output}" ${ARGN})
  file(GLOB page ${WORK_DIR}/one/stand-in-*.md)
  file(READ ${page} text)
  set(report "${text}" PARENT_SCOPE)
endfunction()

set(python python3)
if(EXISTS ${SOURCE_DIR}/build/peers/bin/python)
  set(python ${SOURCE_DIR}/build/peers/bin/python)
endif()
execute_process(COMMAND ${python} -c "import numpy" RESULT_VARIABLE no_numpy OUTPUT_QUIET ERROR_QUIET)
set(packages ${SOURCE_DIR}/tests/scripts/card_page/packages)
if(no_numpy)
  message("SKIP the table of --peers: ${python} has no NumPy; without it --peers says so")
  peers(1 ${packages} "cannot read the cases: " "NumPy" "Nothing was measured")
else()
  file(REMOVE_RECURSE ${WORK_DIR}/packages)
  file(COPY ${packages}/jax DESTINATION ${WORK_DIR}/packages)
  peers(1 ${WORK_DIR}/packages "- PyTorch: " "- JAX: ImportError: libcudart.so.13" "- TensorFlow: " "no page was changed")
  if(NOT report STREQUAL first_report)
    message(FATAL_ERROR "--peers without a figure changed the page")
  endif()
  peers(0 ${packages} "${WORK_DIR}/one/stand-in-")
  expect("${report}" "## Summary" "| inference: forward | 1 | PyTorch" "| MLP, batch 1 | GFLOP/s |" "- JAX: ImportError: libcudart.so.13"
         "## What is wrong\n\nNo step failed." "| bench: card_launch | passed |" "## Against other frameworks" "| mlp_1 |" "| add_4 |")
endif()

sanitizer(sanitizer_bad "========= Error: Potential WAR hazard at 0x10 in gantry_sum" 9)
check_gpu(hazard 1 "devices=1;memory=2G" --only tools)
expect("${report}" "## What is wrong\n\n- **compute-sanitizer: racecheck**: FAILED: exit code 9: `========= Error: Potential WAR hazard at 0x10 in gantry_sum`\n"
       "1 of them failed, ")
unset(ENV{GANTRY_TEST_SANITIZER})

check_gpu(opencl 0 "devices=0" --opencl)
expect("${report}" "Made on PoCL, a processor." "## What is wrong\n\nNo step failed." "- compute-sanitizer: it is for CUDA" "0 of them failed, "
       "| random functions on opencl:0 | passed |" "| products with bias and Relu on opencl:0 | passed |"
       "| shapes that depend on data on opencl:0 | passed |" "| bad data in functions on opencl:0 | passed |" "| fused programs on opencl:0 | passed |"
       "| float32 functions: the CPU's bits, 1 of 4096 parts of all inputs | passed |" "| example functions | passed |"
       "| conformance on opencl:0 | passed |" "| conformance: opencl:0 and cpu:0 bit by bit | passed |" "| bench: launch beside cpu:0 | passed |"
       "| the second of two logical devices | passed |" "| example gpu_guide | passed |" "| host allocations fail while the card serves | passed |")
if(report MATCHES "WRONG RESULT|CUDA_VISIBLE_DEVICES")
  message(FATAL_ERROR "a result was wrong, or the page has CUDA questions for a card of OpenCL")
endif()
expect("${figures}" "\"case\": \"launch\"")

# A processor counts as a card only when it is presented as one.
set(ENV{GANTRY_VISIBLE_DEVICES} -1)
file(REMOVE_RECURSE ${WORK_DIR}/processor)
execute_process(COMMAND sh ${SOURCE_DIR}/scripts/check-gpu --opencl --only failover --build ${BUILD_DIR} --out ${WORK_DIR}/processor
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
unset(ENV{GANTRY_VISIBLE_DEVICES})
file(GLOB pages ${WORK_DIR}/processor/*.md)
if(NOT code EQUAL 1 OR NOT pages)
  message(FATAL_ERROR "a processor passes as a card: exit code ${code}, ${output}")
endif()
file(READ ${pages} page)
expect("${page}" "## What is wrong\n\n- **GPU:0 is there**: FAILED: Gantry does not list it")

if(LAYER)
  set(ENV{OPENCL_LAYERS} ${LAYER})
  set(ENV{POCL_DEVICES} "pthread pthread")
  check_gpu(view 0 "devices=2;memory=2G" --only drivers,failover)
  unset(ENV{OPENCL_LAYERS})
  file(GLOB named ${WORK_DIR}/view/*-drivers-failover.md)
  if(NOT named OR report MATCHES "conformance on cuda:0|### card_")
    message(FATAL_ERROR "the report of parts is not named by them, or has others")
  endif()
  if(report MATCHES "the card has none here")
    message("The OpenCL loader takes no layers: the card's other view is missing")
  else()
    expect("${report}" "| without NVRTC: opencl:0 serves, and says why | passed |" "| without NVRTC: results of GPU:0 | passed |"
           "opencl:0 serves this card in place of cuda:0: cuda:0 builds no programs" "| `0` | 1 cards |")
  endif()
endif()

check_gpu(none 1 "devices=0")
expect("${report}" "# STAND-IN: no figures of a card" "| card | no card |" "1 of them failed, 0 were left out." "| cuda:0 is there | FAILED: Gantry does not list it |"
       "cuda: no driver, or none that starts" "## What is wrong\n\n- **cuda:0 is there**: FAILED: Gantry does not list it")

# A part of a card (MIG) is listed by the UUID that names it, and one that is not there is missed.
set(ENV{GANTRY_TEST_PARTS} MIG-7374616e-642d-696e-2063-617264202030)
check_gpu(part 0 "devices=1;mig=1;memory=2G" --only drivers)
expect("${report}" "| `MIG-7374616e-642d-696e-2063-617264202030` | 1 cards |" "/GPU:0 cuda:0")
set(ENV{GANTRY_TEST_PARTS} MIG-ffffffff-642d-696e-2063-617264202030)
check_gpu(no_part 1 "devices=1;mig=1;memory=2G" --only drivers)
expect("${report}" "values of CUDA_VISIBLE_DEVICES**: FAILED: " "Gantry does not list the part MIG-ffffffff")
unset(ENV{GANTRY_TEST_PARTS})

foreach(library LIBRARY:libcuda NVRTC:libnvrtc CUBLAS:libcublas NVML:libnvml)
  string(REPLACE ":" ";" pair ${library})
  list(GET pair 0 variable)
  list(GET pair 1 file)
  set(ENV{GANTRY_CUDA_${variable}} ${BUILD_DIR}/lib/tests/cuda/standin_${file}.so)
endforeach()
set(ENV{GANTRY_STAND_IN_CUDA} "devices=1;fail=cuMemcpyDtoHAsync_v2:*:1")
execute_process(COMMAND ${BUILD_DIR}/bin/gantry_bench --case card_launch --quick --device cuda:0 RESULT_VARIABLE code OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT code EQUAL 1 OR NOT output MATCHES "FAILED: card_launch, add of 4 elements on cuda:0: reading 16 bytes" OR
   NOT output MATCHES "WRONG RESULT: card_launch, add of 4 elements on raw CUDA" OR output MATCHES "in a row")
  message(FATAL_ERROR "reads that fail are not noticed: exit code ${code}, ${output}")
endif()

set(ENV{GANTRY_STAND_IN_CUDA} "devices=1")
set(ENV{GANTRY_CUDA_MATMUL_PRECISION} tf32)
execute_process(COMMAND ${BUILD_DIR}/bin/gantry_bench --case card_matmul --types float32 --max-n 64 --quick --device cuda:0 RESULT_VARIABLE code
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code EQUAL 1 OR NOT output MATCHES "WRONG RESULT: card_matmul, float32, which has less than its 24 bits on cuda:0")
  message(FATAL_ERROR "products of TF32 pass as float32: exit code ${code}, ${output}")
endif()
