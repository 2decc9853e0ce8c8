# SPDX-License-Identifier: Apache-2.0
# Promise (headers_c): Every public header compiles by itself in C11, with gcc and clang, with -Wpedantic -Werror.
# Promise (headers_cpp): Every public header compiles by itself in C++11, with g++ and clang++.
# Promise (headers_cl): Every public header compiles by itself in C11 as Microsoft's compiler reads it, with /W4 /WX.
#
# Compiles the public headers in strict standard mode: each header as the first and only one, and a program that uses
# the macros. The headers that their comments name exist. For `cl`, clang imitates Microsoft's compiler, without its headers.
#   cmake -DINCLUDE=... -DWORK=... -DLANGUAGE=c|c++|cl -DCOMPILERS=a;b -DSOURCE=use_macros.c -P check_headers.cmake
set(c_standards c11 c99)
set(c++_standards c++11 c++17 c++20)
set(cl_standards c11 c17)
set(flags -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x ${LANGUAGE} -I${INCLUDE} -std=)
if(LANGUAGE STREQUAL "cl")
  set(flags --driver-mode=cl --target=x86_64-pc-windows-msvc -fms-compatibility-version=19.29 -Xclang -ffreestanding
      /W4 /WX /Zs /TC -I${INCLUDE} /std:)
  set(end --) # because an absolute path reads like an option
endif()
if(NOT COMPILERS)
  message("SKIP: there is no compiler for ${LANGUAGE}")
  return() # the test's SKIP_REGULAR_EXPRESSION sees it
endif()

function(compile compiler standard source what)
  execute_process(COMMAND ${compiler} ${flags}${standard} ${end} ${source} RESULT_VARIABLE code ERROR_VARIABLE text OUTPUT_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what}, ${compiler}, ${standard}:\n${text}")
  endif()
endfunction()

file(MAKE_DIRECTORY ${WORK})
file(GLOB headers RELATIVE ${INCLUDE} ${INCLUDE}/gantry/*.h ${INCLUDE}/gantry_train/*.h ${INCLUDE}/gantry_onnx/*.h)
if(LANGUAGE STREQUAL "c++")
  list(APPEND headers gantry/gantry.hpp gantry_train/train.hpp)
endif()
list(LENGTH headers count)
if(count LESS 33)
  message(FATAL_ERROR "${count} headers in ${INCLUDE}")
endif()
list(GET ${LANGUAGE}_standards 0 first)
foreach(header IN LISTS headers)
  file(READ ${INCLUDE}/${header} text)
  if(text MATCHES "__typeof|typeof *\\(|__extension__|\\({|__builtin_")
    message(FATAL_ERROR "${header} has \"${CMAKE_MATCH_0}\", which is no standard C")
  endif()
  string(REGEX MATCHALL "gantry[a-z_]*/[a-z_]+\\.h" named "${text}")
  foreach(name IN LISTS named)
    if(NOT EXISTS ${INCLUDE}/${name})
      message(FATAL_ERROR "${header} names ${name}, which is no header")
    endif()
  endforeach()
  string(MAKE_C_IDENTIFIER ${header} name)
  set(source ${WORK}/${name}.${LANGUAGE})
  file(WRITE ${source} "#include <${header}>\ntypedef int a_declaration;\n")
  foreach(compiler IN LISTS COMPILERS)
    compile(${compiler} ${first} ${source} ${header})
  endforeach()
endforeach()
foreach(compiler IN LISTS COMPILERS)
  foreach(standard IN LISTS ${LANGUAGE}_standards)
    compile(${compiler} ${standard} ${SOURCE} ${SOURCE})
  endforeach()
endforeach()
message("${count} headers and their macros: ${COMPILERS}")
