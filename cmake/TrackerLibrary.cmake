# SPDX-License-Identifier: MIT
# The targets that users meet, over the static rooms: the shared library tracker::tracker and the program `tracker`.

# A link that exports `symbols` and nothing else. The rooms, and what is linked statically into them, then cannot clash
# with other copies of the same code in the process that loads us.
function(tracker_export_only target symbols)
  string(REGEX REPLACE ";+$" "" symbols "${symbols}")
  set(map "${PROJECT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${map}" CONTENT "{ global: ${symbols}; local: *; };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
endfunction()

# The C ABI is src/capi/capi.cc, in the static room; nothing else refers to its objects, so they are asked for whole.
add_library(tracker_shared SHARED "${PROJECT_SOURCE_DIR}/include/tracker/tracker.h")
add_library(tracker::tracker ALIAS tracker_shared)
set(interface tracker_capi)
if(TRACKER_JOIN STREQUAL "ON")
  set(interface tracker_joined)
endif()
target_link_libraries(tracker_shared PRIVATE tracker_options "$<LINK_LIBRARY:WHOLE_ARCHIVE,${interface}>")
target_include_directories(tracker_shared INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(tracker_shared INTERFACE cxx_std_17)
set_target_properties(tracker_shared PROPERTIES
  OUTPUT_NAME tracker EXPORT_NAME tracker LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
tracker_export_only(tracker_shared "trk_*")
# Threads that nobody joins, handlers of fork and exit: dlclose() must leave them their code.
target_link_options(tracker_shared PRIVATE "LINKER:-z,nodelete")
if(NOT TRACKER_SANITIZE)  # the sanitizers' own symbols are found only when the program starts
  target_link_options(tracker_shared PRIVATE "LINKER:--no-undefined")
endif()

if(TRACKER_BUILD_CLI)
  add_executable(tracker_program cli/args/main.cc)
  target_link_libraries(tracker_program PRIVATE tracker_options tracker_cli)
  set_target_properties(tracker_program PROPERTIES
    OUTPUT_NAME tracker RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endif()
