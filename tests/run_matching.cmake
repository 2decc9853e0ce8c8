# SPDX-License-Identifier: Apache-2.0
# cmake -DPATTERN=REGEX -P run_matching.cmake -- PROGRAM ARGUMENTS...: the program must end with 0 and its output
# match. ctest's own PASS_REGULAR_EXPRESSION ignores the exit code, so a program that crashes after the line would
# pass.
cmake_minimum_required(VERSION 3.22)
set(command "")
set(is_command OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(is_command ON)
  endif()
endforeach()
execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${command}: exit code ${code}")
endif()
if(NOT output MATCHES "${PATTERN}")
  message(FATAL_ERROR "${command}: the output does not match ${PATTERN}")
endif()
