# SPDX-License-Identifier: Apache-2.0
# vcpkg's port of Gantry's libraries; nobody has tested it with vcpkg. SOURCE_PATH is the unpacked tarball that has this
# file.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES opencl GANTRY_OPENCL)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${options} -DGANTRY_MPI=OFF -DGANTRY_BUILD_TOOLS=OFF -DGANTRY_BUILD_EXAMPLES=OFF -DGANTRY_BUILD_TESTS=OFF -DGANTRY_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME Gantry CONFIG_PATH lib/cmake/Gantry)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
