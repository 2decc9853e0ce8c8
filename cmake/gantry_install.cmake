# SPDX-License-Identifier: Apache-2.0
# Headers, library, CMake package and pkg-config file.
install(TARGETS gantry EXPORT GantryTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/gantry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
set(GANTRY_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Gantry)
install(EXPORT GantryTargets NAMESPACE Gantry:: DESTINATION ${GANTRY_CMAKE_DIR})
configure_package_config_file(cmake/GantryConfig.cmake.in ${CMAKE_BINARY_DIR}/GantryConfig.cmake INSTALL_DESTINATION ${GANTRY_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/GantryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/GantryConfig.cmake ${CMAKE_BINARY_DIR}/GantryConfigVersion.cmake DESTINATION ${GANTRY_CMAKE_DIR})
file(RELATIVE_PATH GANTRY_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /.) # so that an installed tree may be moved
configure_file(cmake/gantry.pc.in ${CMAKE_BINARY_DIR}/gantry.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gantry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
