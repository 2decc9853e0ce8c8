# SPDX-License-Identifier: Apache-2.0
# Adds the target docs when Doxygen is found. The target writes the API reference of the public headers to
# reference/html in the build folder.
find_program(GANTRY_DOXYGEN doxygen)
mark_as_advanced(GANTRY_DOXYGEN)
if(GANTRY_DOXYGEN)
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/reference
    # Doxygen splits the value of a variable at spaces, so the headers' path is relative.
    COMMAND ${CMAKE_COMMAND} -E env GANTRY_REFERENCE_INPUT=include GANTRY_REFERENCE_OUTPUT=${PROJECT_BINARY_DIR}/reference
            GANTRY_REFERENCE_VERSION=${PROJECT_VERSION} ${GANTRY_DOXYGEN} ${PROJECT_SOURCE_DIR}/cmake/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "API reference: ${PROJECT_BINARY_DIR}/reference/html/index.html" VERBATIM)
endif()
