# SPDX-License-Identifier: MIT
# A room is one folder of src/: one static library with explicit links and an include root of its own.
#
# The include root of room `x` is <build>/rooms/x, which holds one link, x -> src/x. So `#include "x/y.h"`
# compiles only in targets that link x, and an include that goes up the layers does not build. Of room `x/y` the target
# is tracker_x_y, the include root <build>/rooms/x_y with the link x/y, and the include "x/y/z.h".
# ALONE names the files that are never joined with others (TrackerJoin.cmake).
function(tracker_room path)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ALONE;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  string(REPLACE "/" "_" name "${path}")
  foreach(depend IN LISTS ROOM_DEPENDS ROOM_PRIVATE_DEPENDS)
    # Without this a name that is no target becomes -lname, and the first error is a missing header far from here.
    if(NOT TARGET ${depend})
      message(FATAL_ERROR "room ${name} links ${depend}, which is no target: a room above it, or a misspelling")
    endif()
  endforeach()
  set(root "${PROJECT_BINARY_DIR}/rooms/${name}")
  cmake_path(GET path PARENT_PATH above)
  file(MAKE_DIRECTORY "${root}/${above}")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${root}/${path}" SYMBOLIC)
  add_library(tracker_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(tracker_${name} PUBLIC "$<BUILD_INTERFACE:${root}>")
  target_link_libraries(tracker_${name} PUBLIC ${ROOM_DEPENDS} PRIVATE tracker_options ${ROOM_PRIVATE_DEPENDS})
  set_target_properties(tracker_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  tracker_precompile(tracker_${name} tracker_room_precompiled)
  if(TRACKER_JOIN_SOURCES)
    tracker_join(tracker_${name} ALONE ${ROOM_ALONE})
  endif()
endfunction()

# The public headers, for the rooms and tests that include <tracker/...>.
add_library(tracker_headers INTERFACE)
target_include_directories(tracker_headers INTERFACE "${PROJECT_SOURCE_DIR}/include")
