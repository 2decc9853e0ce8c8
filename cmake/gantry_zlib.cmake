# SPDX-License-Identifier: Apache-2.0
# zlib, for the compressed entries of .npz files. Sets GANTRY_ZLIB_INCLUDE and GANTRY_ZLIB_LIBRARY, and no name of a
# parent project's cache.
find_path(GANTRY_ZLIB_INCLUDE zlib.h)
find_library(GANTRY_ZLIB_LIBRARY z)
if(NOT GANTRY_ZLIB_INCLUDE OR NOT GANTRY_ZLIB_LIBRARY)
  message(WARNING "gantry convert leaves out the compressed entries of .npz files, because zlib was not found. Install zlib1g-dev and configure again; stored entries are read and written without it.")
endif()
