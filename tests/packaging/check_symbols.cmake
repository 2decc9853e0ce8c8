# SPDX-License-Identifier: Apache-2.0
# Promise (symbols_*): Each library exports only names with its own prefix, and refers to no exit, abort or print.
# Promise (symbols_*): No library refers to a hidden function of another (gantry__).
#
# cmake -DNM=nm -DLIBRARY=libgantry.so -DEXPORTS=gantry_ -P check_symbols.cmake
# The library must not end the process or print, so it may reference no function that does. It may export only names
# that match EXPORTS.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${NM} -D --undefined-only ${LIBRARY} OUTPUT_VARIABLE undefined RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${NM} failed on ${LIBRARY}")
endif()
set(forbidden exit _exit _Exit quick_exit abort raise kill __assert_fail __assert __assert_perror_fail printf vprintf puts putchar perror
    fprintf vfprintf __printf_chk __vprintf_chk __fprintf_chk __vfprintf_chk stdout stderr err errx system)
string(REPLACE "\n" ";" lines "${undefined}")
set(names "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^ *[A-Za-z] +([^@ ]+).*$" "\\1" name "${line}")
  list(APPEND names "${name}")
endforeach()
if(NOT "memcpy" IN_LIST names AND NOT "strlen" IN_LIST names)
  message(FATAL_ERROR "The undefined names of ${LIBRARY} were not understood: ${names}")
endif()
foreach(name IN LISTS names)
  if(name MATCHES "^gantry__")
    message(SEND_ERROR "${LIBRARY} references ${name}, which no library exports")
  endif()
endforeach()
foreach(name IN LISTS forbidden)
  if("${name}" IN_LIST names)
    message(SEND_ERROR "${LIBRARY} references ${name}")
  endif()
endforeach()

execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE defined RESULT_VARIABLE result)
string(REPLACE "\n" ";" lines "${defined}")
set(count 0)
foreach(line IN LISTS lines)
  if(line STREQUAL "" OR line MATCHES " A ([A-Z_0-9]+)(@@[A-Z_0-9]+)?$") # the node of the versioned symbols
    continue()
  endif()
  string(REGEX REPLACE "^.* [A-Za-z] ([^@ ]+).*$" "\\1" name "${line}")
  if(NOT name MATCHES "^${EXPORTS}" OR name MATCHES "^gantry__")
    message(SEND_ERROR "${LIBRARY} exports ${name}")
  endif()
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  message(SEND_ERROR "${LIBRARY} exports nothing")
endif()
message(STATUS "${LIBRARY}: ${count} exports")
