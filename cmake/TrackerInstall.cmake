# SPDX-License-Identifier: MIT
# cmake --install: the library, its headers, the program, and what find_package(tracker) and pkg-config read.
include(CMakePackageConfigHelpers)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tracker")
install(TARGETS tracker_shared EXPORT trackerTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development)
install(DIRECTORY include/tracker DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT trackerTargets NAMESPACE tracker:: DESTINATION "${_package_dir}" COMPONENT development)

configure_package_config_file(cmake/trackerConfig.cmake.in "${PROJECT_BINARY_DIR}/trackerConfig.cmake"
  INSTALL_DESTINATION "${_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/trackerConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/trackerConfig.cmake" "${PROJECT_BINARY_DIR}/trackerConfigVersion.cmake"
  DESTINATION "${_package_dir}" COMPONENT development)

# The .pc file finds its prefix from where it lies, so an installed tree can be moved.
file(RELATIVE_PATH _pc_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" _pc_prefix "${_pc_prefix}")
configure_file(cmake/tracker.pc.in "${PROJECT_BINARY_DIR}/tracker.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tracker.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)
if(TARGET tracker_http)
  install(TARGETS tracker_http LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
endif()
if(TARGET tracker_program)
  install(TARGETS tracker_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()
