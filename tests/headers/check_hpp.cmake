# SPDX-License-Identifier: Apache-2.0
# Promise (headers_hpp): The C++ headers compile without a warning from C++11 to C++23, with exceptions and without, with
# g++ and clang++.
# Promise (headers_hpp): In C++, owners and scopes release what they have, spans and lambdas reach ops and functions, and
# a failure is an exception, or a status that must be read.
# Promise (headers_hpp): In C++, a tensor is over a vector's elements, which a lambda gets back, and a mapped tensor is a
# span.
# Promise (headers_hpp): Every object of the public headers that has a release has an owner in C++.
#
# Compiles use_hpp.cpp with each compiler and standard; the oldest and the newest are linked and run. A file of each kind
# of failure links with one of the other kind. A compiler without C++23 is named.
#   cmake -DINCLUDE=... -DWORK=... -DCOMPILERS=a;b -DSOURCE=use_hpp.cpp -DLIBRARIES=a;b -P check_hpp.cmake
set(flags -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Werror -I${INCLUDE})
if(NOT COMPILERS)
  message("SKIP: there is no compiler for c++")
  return() # the test's SKIP_REGULAR_EXPRESSION sees it
endif()
file(MAKE_DIRECTORY ${WORK})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${code}\n${text}")
  endif()
endfunction()

function(link_and_run compiler)
  set(rpath "")
  foreach(library IN LISTS LIBRARIES)
    get_filename_component(folder ${library} DIRECTORY)
    list(APPEND rpath -Wl,-rpath,${folder})
  endforeach()
  run(${compiler} ${flags} ${ARGN} ${LIBRARIES} ${rpath} -lpthread -o ${WORK}/program)
  run(${WORK}/program ${WORK}/a_file)
endfunction()

# ---- every release has an owner ----
file(GLOB headers ${INCLUDE}/gantry/*.h ${INCLUDE}/gantry_train/*.h)
file(READ ${INCLUDE}/gantry/gantry.hpp owners)
file(READ ${INCLUDE}/gantry_train/train.hpp more)
set(count 0)
foreach(header IN LISTS headers)
  file(READ ${header} text)
  string(REGEX MATCHALL "GANTRY_API (void|gantry_status_t) gantry_[a-z_]*_(release|end|abandon|free)\\([a-z_ *]*" releases "${text}")
  list(FILTER releases EXCLUDE REGEX "_end\\(gantry_scope_t") # a part of the scope, whose own end is its owner's
  foreach(release IN LISTS releases)
    string(REGEX MATCH "gantry_[a-z_]*_(release|end|abandon|free)\\(" name "${release}")
    string(REPLACE "(" "" name ${name})
    math(EXPR count "${count} + 1")
    if(NOT "${owners}${more}" MATCHES "${name}[ ()]")
      message(FATAL_ERROR "${header}: ${name} is in no header of C++")
    endif()
  endforeach()
endforeach()
if(count LESS 24)
  message(FATAL_ERROR "only ${count} releases were found in ${INCLUDE}")
endif()
string(REGEX MATCHALL "\n" lines "${owners}")
list(LENGTH lines lines)
if(lines GREATER 400)
  message(FATAL_ERROR "gantry/gantry.hpp has ${lines} lines; at most 400 are accepted")
endif()

# ---- every standard ----
set(unread ${WORK}/unread.cpp)
file(WRITE ${unread} "#include <gantry/gantry.hpp>\nint main() { gantry::check(gantry_runtime_initialize(nullptr)); }\n")
foreach(compiler IN LISTS COMPILERS)
  set(newest c++20)
  execute_process(COMMAND ${compiler} -std=c++2b -fsyntax-only -x c++ /dev/null RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
  if(code EQUAL 0)
    set(newest c++2b)
  else()
    message("${compiler} has no C++23")
  endif()
  foreach(standard IN ITEMS c++11 c++14 c++20 ${newest}) # the two files of one program are C++17, in both modes
    foreach(mode IN ITEMS -fexceptions -fno-exceptions)
      if(standard STREQUAL "c++11" OR standard STREQUAL newest)
        link_and_run(${compiler} -std=${standard} ${mode} ${SOURCE})
      else()
        run(${compiler} -std=${standard} ${mode} ${flags} -fsyntax-only ${SOURCE})
      endif()
    endforeach()
  endforeach()
  run(${compiler} -std=c++17 ${flags} -fno-exceptions -DPROGRAM=other_program -c ${SOURCE} -o ${WORK}/other.o)
  link_and_run(${compiler} -std=c++17 -DOTHER_PROGRAM=other_program ${SOURCE} ${WORK}/other.o)

  run(${compiler} -std=c++11 ${flags} -fsyntax-only -Wno-unused-result ${unread})
  execute_process(COMMAND ${compiler} -std=c++11 ${flags} -fno-exceptions -c ${unread} -o ${WORK}/unread.o
                  RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_VARIABLE text)
  if(code EQUAL 0 OR NOT text MATCHES "unused-result|unused-value|nodiscard")
    message(FATAL_ERROR "${compiler}: a status that nobody reads has no warning: ${text}")
  endif()
endforeach()
message("${count} releases, ${lines} lines, C++11 to C++23: ${COMPILERS}")
