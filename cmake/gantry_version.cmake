# SPDX-License-Identifier: Apache-2.0
# GANTRY_VERSION from include/gantry/version.h, which is the only file that states the version. Included before
# project(). The function keeps its own variables out of the including file.
function(gantry_read_version folder)
  file(STRINGS ${folder}/../include/gantry/version.h lines REGEX "^#define GANTRY_VERSION")
  string(REGEX MATCH "GANTRY_VERSION \"([0-9.]+)\"" line "${lines}")
  set(version ${CMAKE_MATCH_1})
  string(REGEX REPLACE ".*_MAJOR ([0-9]+).*_MINOR ([0-9]+).*_PATCH ([0-9]+).*" "\\1.\\2.\\3" numbers "${lines}")
  if(NOT version OR NOT version STREQUAL numbers)
    message(FATAL_ERROR "include/gantry/version.h has GANTRY_VERSION \"${version}\" and the numbers ${numbers}; both must state one version")
  endif()
  set(GANTRY_VERSION ${version} PARENT_SCOPE)
endfunction()
gantry_read_version("${CMAKE_CURRENT_LIST_DIR}")
