# SPDX-License-Identifier: Apache-2.0
# Promise (size_libgantry): The stripped library stays below its bound.
# Promise (size_onnx): So does the library of models.
#
# cmake -DSTRIP=strip -DLIBRARY=libgantry.so -DCOPY=file -DBYTES=most -P check_size.cmake: the library without debug
# symbols must be smaller than BYTES.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${STRIP} -o ${COPY} ${LIBRARY} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${STRIP} failed on ${LIBRARY}: ${result}")
endif()
file(SIZE ${COPY} bytes)
file(REMOVE ${COPY})
if(NOT bytes LESS BYTES)
  message(FATAL_ERROR "${LIBRARY} has ${bytes} bytes when stripped; accepted are less than ${BYTES}")
endif()
message(STATUS "${bytes} bytes of ${BYTES}")
