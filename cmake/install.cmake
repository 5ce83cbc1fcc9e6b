# SPDX-License-Identifier: BSD-3-Clause
# The shared library for embedders, what `make install` puts where, and the target `product`: all of
# it and nothing else. Parts that this machine cannot build are not installed.
include(CMakePackageConfigHelpers)

add_custom_target(product)

# The command finds the preloaded library relative to itself, so both follow one prefix. It is
# installed where it is made, in src/mpi.
foreach(part tutti tutti-mpi)
  if(TARGET ${part})
    add_dependencies(product ${part})
  endif()
endforeach()
if(TARGET tutti)
  install(TARGETS tutti RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(NOT TARGET tutti_api)
  tutti_list_installed()
  return()
endif()

# tutti_api is an archive without users inside the library, so the linker must take it whole.
add_library(tutti_shared SHARED ${PROJECT_SOURCE_DIR}/cmake/shared.cpp)
add_library(tutti::tutti ALIAS tutti_shared)
add_dependencies(product tutti_shared)
set(map ${PROJECT_SOURCE_DIR}/cmake/libtutti.map)
target_link_libraries(tutti_shared PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,tutti_api>")
target_link_options(tutti_shared PRIVATE LINKER:--as-needed LINKER:--version-script=${map})
tutti_for_old_glibc(tutti_shared)
if(NOT TUTTI_SANITIZE)
  target_link_options(tutti_shared PRIVATE LINKER:-z,defs)
endif()
target_include_directories(
  tutti_shared PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(
  tutti_shared
  PROPERTIES OUTPUT_NAME tutti
             EXPORT_NAME tutti
             VERSION ${PROJECT_VERSION}
             SOVERSION ${PROJECT_VERSION_MAJOR}
             LINK_DEPENDS ${map})

install(TARGETS tutti_shared EXPORT tutti-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/tutti/tutti.h ${PROJECT_SOURCE_DIR}/include/tutti/team_info.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tutti)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
install(EXPORT tutti-targets NAMESPACE tutti:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tutti-config.cmake.in
                              ${PROJECT_BINARY_DIR}/tutti-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tutti-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tutti-config.cmake
              ${PROJECT_BINARY_DIR}/tutti-config-version.cmake DESTINATION ${package})

# The pkg-config file names its prefix relative to where it lies, so that the tree can be moved.
file(RELATIVE_PATH prefix_from_pc /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tutti.pc.in ${PROJECT_BINARY_DIR}/tutti.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tutti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
tutti_list_installed()
