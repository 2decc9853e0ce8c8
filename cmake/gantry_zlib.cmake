# SPDX-License-Identifier: Apache-2.0
# zlib, for the compressed entries of .npz files. Sets ZLIB_FOUND.
find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  message(WARNING "gantry convert leaves out the compressed entries of .npz files, because zlib was not found. Install zlib1g-dev and configure again; stored entries are read and written without it.")
endif()
