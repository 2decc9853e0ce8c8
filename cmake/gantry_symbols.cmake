# SPDX-License-Identifier: Apache-2.0
# Soname and versioned symbols. GANTRY_SONAME_NUMBER is N of libgantry.so.N and of the node GANTRY_N, which every symbol
# carries. It grows with each release that breaks the ABI: docs/packages.md.
set(GANTRY_SONAME_NUMBER 0)

# gantry_shared_symbols(TARGET EXPORTS): the soname; and where linkers read version scripts, the node. What does not match
# EXPORTS stays inside the library.
function(gantry_shared_symbols target exports)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${GANTRY_SONAME_NUMBER} LINKER_LANGUAGE C)
  if(NOT BUILD_SHARED_LIBS OR GANTRY_SANITIZE OR WIN32 OR APPLE)
    return()
  endif()
  string(TOUPPER ${target} node)
  set(script ${PROJECT_BINARY_DIR}/generated/${target}.map)
  file(CONFIGURE OUTPUT ${script} CONTENT "${node}_${GANTRY_SONAME_NUMBER} {\n  global: ${exports};\n  local: *;\n};\n" @ONLY)
  # The hidden base is compiled with a section for each function: a library has those that it calls.
  target_link_options(${target} PRIVATE LINKER:--version-script=${script} LINKER:--gc-sections)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()
