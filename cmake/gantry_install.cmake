# SPDX-License-Identifier: Apache-2.0
# Installs headers, library, CMake package, pkg-config file, licence, pages, and examples that build by themselves.
install(TARGETS gantry EXPORT GantryTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(GANTRY_TRAIN)
  install(TARGETS gantry_train EXPORT GantryTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gantry_train DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gantry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
set(GANTRY_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Gantry)
install(EXPORT GantryTargets NAMESPACE Gantry:: DESTINATION ${GANTRY_CMAKE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/GantryConfig.cmake.in ${PROJECT_BINARY_DIR}/GantryConfig.cmake
                              INSTALL_DESTINATION ${GANTRY_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/GantryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/GantryConfig.cmake ${PROJECT_BINARY_DIR}/GantryConfigVersion.cmake DESTINATION ${GANTRY_CMAKE_DIR})

# Paths within the prefix are written relative to it, so that an installed tree may be moved. Other paths stay.
foreach(folder LIBDIR INCLUDEDIR)
  set(GANTRY_PC_${folder} ${CMAKE_INSTALL_${folder}})
  if(NOT IS_ABSOLUTE "${GANTRY_PC_${folder}}")
    string(PREPEND GANTRY_PC_${folder} "\${prefix}/")
  endif()
endforeach()
set(GANTRY_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH GANTRY_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /.)
  string(PREPEND GANTRY_PC_PREFIX "\${pcfiledir}/")
endif()
# libgantry's own dependencies, which a program must link when it links the static library.
set(GANTRY_PC_LIBS_PRIVATE "-lpthread -ldl -lm")
if(NOT BUILD_SHARED_LIBS)
  set(GANTRY_PC_LIBS " ${GANTRY_PC_LIBS_PRIVATE}")
  set(GANTRY_PC_LIBS_PRIVATE "")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/gantry.pc.in ${PROJECT_BINARY_DIR}/gantry.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/gantry.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(GANTRY_TRAIN)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/gantry_train.pc.in ${PROJECT_BINARY_DIR}/gantry_train.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/gantry_train.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

foreach(page LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/bench/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
