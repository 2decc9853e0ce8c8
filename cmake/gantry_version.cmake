# SPDX-License-Identifier: Apache-2.0
# GANTRY_VERSION from include/gantry/version.h, which is the only file that states the version. Included before
# project().
set(header ${CMAKE_CURRENT_LIST_DIR}/../include/gantry/version.h)
file(STRINGS ${header} lines REGEX "^#define GANTRY_VERSION")
string(REGEX MATCH "GANTRY_VERSION \"([0-9.]+)\"" line "${lines}")
set(GANTRY_VERSION ${CMAKE_MATCH_1})
string(REGEX REPLACE ".*_MAJOR ([0-9]+).*_MINOR ([0-9]+).*_PATCH ([0-9]+).*" "\\1.\\2.\\3" numbers "${lines}")
if(NOT GANTRY_VERSION OR NOT GANTRY_VERSION STREQUAL numbers)
  message(FATAL_ERROR "include/gantry/version.h has GANTRY_VERSION \"${GANTRY_VERSION}\" and the numbers ${numbers}; both must state one version")
endif()
