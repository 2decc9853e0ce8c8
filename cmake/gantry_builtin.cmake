# SPDX-License-Identifier: Apache-2.0
# Writes the list of backends and kernel packs that are linked into the library, the reason why each other known backend
# is missing, and the names of all known backends.
set(GANTRY_BUILTIN_SOURCE ${PROJECT_BINARY_DIR}/generated/builtin_modules.c)
set(declarations "")
set(backends "")
set(packs "")
foreach(name IN LISTS GANTRY_BUILTIN_BACKENDS)
  string(APPEND declarations "int32_t gantry_backend_query_${name}(uint32_t max_abi, const gantry_backend_t **out_backend);\n")
  string(APPEND backends "    {\"${name}\", gantry_backend_query_${name}},\n")
endforeach()
set(absent "")
foreach(name IN LISTS GANTRY_KNOWN_BACKENDS)
  if(NOT name IN_LIST GANTRY_BUILTIN_BACKENDS)
    string(APPEND absent "    {\"${name}\", \"${GANTRY_ABSENT_${name}}\"},\n")
  endif()
endforeach()
set(names ${GANTRY_BUILTIN_BACKENDS} ${GANTRY_KNOWN_BACKENDS})
list(REMOVE_DUPLICATES names)
list(SORT names)
list(TRANSFORM names REPLACE "(.+)" "\"\\1\", " OUTPUT_VARIABLE own)
list(JOIN own "" own)
foreach(name IN LISTS GANTRY_BUILTIN_PACKS)
  string(APPEND declarations "int32_t gantry_pack_query_${name}(uint32_t max_abi, const gantry_kernel_pack_t **out_pack);\n")
  string(APPEND packs "    gantry_pack_query_${name},\n")
endforeach()
file(CONFIGURE OUTPUT ${GANTRY_BUILTIN_SOURCE} CONTENT [[
#include "backend/builtin.h"

@declarations@
const gantry__builtin_backend_t gantry__builtin_backends[] = {
@backends@};
const size_t gantry__builtin_backend_count = sizeof gantry__builtin_backends / sizeof gantry__builtin_backends[0];

/* Ends with an item without a name. */
const gantry__absent_backend_t gantry__absent_backends[] = {
@absent@    {NULL, NULL}};

const char *const gantry__own_backends[] = {@own@NULL};

const gantry_kernel_pack_query_fn gantry__builtin_packs[] = {
@packs@};
const size_t gantry__builtin_pack_count = sizeof gantry__builtin_packs / sizeof gantry__builtin_packs[0];
]] @ONLY)
