# SPDX-License-Identifier: Apache-2.0
# Writes the names of all ops, sorted, for ids and look-up (src/op/op_def.h, op_find.c): generated/op/op_list.inc,
# GANTRY__OP_NAME(name) each.
file(GLOB GANTRY_OP_ROWS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/*.def ${PROJECT_SOURCE_DIR}/src/op/op_*.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${GANTRY_OP_ROWS})
set(GANTRY_OP_NAMES "")
foreach(file IN LISTS GANTRY_OP_ROWS)
  file(READ ${file} rows)
  string(REGEX REPLACE "\n[^\n]*, (BINARY_)?VARIANT, [^\n]*" "" rows "${rows}") # a variant is not a separate op
  string(REGEX MATCHALL "\n(OP|GANTRY_[A-Z]+)\\([A-Za-z0-9_]+," rows "${rows}")
  list(TRANSFORM rows REPLACE ".*\\((.+)," "\\1")
  list(APPEND GANTRY_OP_NAMES ${rows})
endforeach()
list(SORT GANTRY_OP_NAMES)
list(TRANSFORM GANTRY_OP_NAMES REPLACE "(.+)" "GANTRY__OP_NAME(\\1)\n")
list(JOIN GANTRY_OP_NAMES "" GANTRY_OP_NAMES)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/op/op_list.inc CONTENT
     "/* Every op, sorted by name. Made by cmake/gantry_op_list.cmake. */\n@GANTRY_OP_NAMES@" @ONLY)
include_directories(${PROJECT_BINARY_DIR}/generated)
