# SPDX-License-Identifier: Apache-2.0
# cmake -DMODE=... -DSOURCE_DIR=... -DBUILD_DIR=... -DWORK_DIR=... -DGENERATOR=... -DC_COMPILER=... -DOPENCL=ON|OFF [-DPKG_CONFIG=...]
#       -P package_test.cmake
#   shared      installs the build into WORK_DIR/prefix, builds and runs a program that finds it with find_package
#   pkgconfig   the same with pkg-config and the compiler alone, from a tree that was moved
#   static      configures, builds and installs a static library with the OpenCL backend inside, and a program with find_package; for
#               debuggers but without what they read, since that builds fastest
cmake_minimum_required(VERSION 3.22)
set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# What an installed program meets: no variable that leads back into the build.
foreach(variable GANTRY_BACKENDS GANTRY_BACKEND_PATH LD_LIBRARY_PATH)
  unset(ENV{${variable}})
endforeach()

if(MODE STREQUAL "static")
  set(backends "")
  set(path "")
  if(OPENCL)
    set(backends opencl)
    set(path "built in")
  endif()
  run(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0
      -DBUILD_SHARED_LIBS=OFF -DGANTRY_STATIC_BACKENDS=${backends} -DGANTRY_BUILD_TESTS=OFF -DGANTRY_BUILD_TOOLS=OFF
      -DGANTRY_BUILD_EXAMPLES=OFF -DGANTRY_BUILD_BENCH=OFF)
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/build --parallel 2)
  run(${CMAKE_COMMAND} --install ${WORK_DIR}/build --prefix ${prefix})
else()
  run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
  set(path "")
  if(OPENCL)
    set(path ${prefix})
  endif()
endif()

set(consumer ${SOURCE_DIR}/tests/packaging/consumer)
if(MODE STREQUAL "pkgconfig")
  file(RENAME ${prefix} ${WORK_DIR}/moved)
  file(GLOB_RECURSE description ${WORK_DIR}/moved/gantry.pc)
  cmake_path(GET description PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  run(${PKG_CONFIG} --cflags --libs gantry)
  string(STRIP "${output}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${C_COMPILER} -std=c11 ${consumer}/consumer.c -o ${WORK_DIR}/consumer ${flags})
  cmake_path(GET folder PARENT_PATH libraries)
  set(ENV{LD_LIBRARY_PATH} ${libraries})
  if(OPENCL)
    set(path ${WORK_DIR}/moved)
  endif()
  run(${WORK_DIR}/consumer "${path}")
else()
  run(${CMAKE_COMMAND} -S ${consumer} -B ${WORK_DIR}/consumer -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_PREFIX_PATH=${prefix})
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/consumer)
  run(${WORK_DIR}/consumer/consumer "${path}")
endif()
message(STATUS "${output}")
