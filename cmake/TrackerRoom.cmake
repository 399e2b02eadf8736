# SPDX-License-Identifier: MIT
# A room is one folder of src/: one static library with explicit links and an include root of its own.
#
# The include root of room `x` is <build>/rooms/x, which holds one link, x -> src/x. So `#include "x/y.h"`
# compiles only in targets that link x, and an include that goes up the layers does not build. Of room `x/y` the target
# is tracker_x_y, the include root <build>/rooms/x_y with the link x/y, and the include "x/y/z.h". The root of a room
# that has rooms of its own holds links of its headers alone, so that theirs are not seen through it.
#
# tracker_room(path SOURCES ... [ALONE ...] [LISTINGS ...] [DEPENDS ...] [PRIVATE_DEPENDS ...] [LIBRARIES ...]
#   [INCLUDES ...] [DEFINITIONS ...]); the last three are private.
# LISTINGS names those of SOURCES that only commands and listings need, or ALL: they lead to RE2 and CLI11, which the
# shared library must not load, and a linker takes whole objects of an archive. ALONE: cmake/TrackerJoin.cmake.
#
# With TRACKER_JOIN=ON a room has no library of its own: all rooms are two archives, tracker_joined and, above it,
# tracker_joined_listings. Their files see the include roots of all rooms; only the other builds check includes.
function(tracker_room path)
  string(REPLACE "/" "_" name "${path}")
  cmake_parse_arguments(ROOM "" ""
    "SOURCES;ALONE;LISTINGS;DEPENDS;PRIVATE_DEPENDS;LIBRARIES;INCLUDES;DEFINITIONS" ${ARGN})
  if(ROOM_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tracker_room(${name}): what is ${ROOM_UNPARSED_ARGUMENTS}?")
  endif()
  foreach(depend IN LISTS ROOM_DEPENDS ROOM_PRIVATE_DEPENDS)
    # Without this a name that is no target becomes -lname, and the first error is a missing header far from here.
    if(NOT TARGET ${depend})
      message(FATAL_ERROR "room ${name} links ${depend}, which is no target: a room above it, or a misspelling")
    endif()
  endforeach()
  set(root "${PROJECT_BINARY_DIR}/rooms/${name}")
  cmake_path(GET path PARENT_PATH above)
  file(MAKE_DIRECTORY "${root}/${above}")
  file(GLOB inner "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt")
  file(REMOVE_RECURSE "${root}/${path}")
  if(inner)
    file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
    file(MAKE_DIRECTORY "${root}/${path}")
    foreach(header IN LISTS headers)
      cmake_path(GET header FILENAME header_name)
      file(CREATE_LINK "${header}" "${root}/${path}/${header_name}" SYMBOLIC)
    endforeach()
  else()
    file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${root}/${path}" SYMBOLIC)
  endif()
  if(TRACKER_JOIN STREQUAL "ON")
    add_library(tracker_${name} INTERFACE)
    target_include_directories(tracker_${name} INTERFACE "$<BUILD_INTERFACE:${root}>")
    target_link_libraries(tracker_${name} INTERFACE ${ROOM_DEPENDS} tracker_joined_listings)
    if(ROOM_LISTINGS STREQUAL "ALL")
      set(ROOM_LISTINGS ${ROOM_SOURCES})
    endif()
    list(REMOVE_ITEM ROOM_SOURCES ${ROOM_LISTINGS})
    list(TRANSFORM ROOM_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(TRANSFORM ROOM_LISTINGS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(TRANSFORM ROOM_ALONE PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    set_property(GLOBAL APPEND PROPERTY TRACKER_JOINED_SOURCES ${ROOM_SOURCES})
    set_property(GLOBAL APPEND PROPERTY TRACKER_JOINED_LISTINGS ${ROOM_LISTINGS})
    set_property(GLOBAL APPEND PROPERTY TRACKER_JOINED_ALONE ${ROOM_ALONE})
    set_property(GLOBAL APPEND PROPERTY TRACKER_JOINED_LIBRARIES ${ROOM_PRIVATE_DEPENDS} ${ROOM_LIBRARIES})
    set_property(GLOBAL APPEND PROPERTY TRACKER_JOINED_INCLUDES "${root}" ${ROOM_INCLUDES})
    set_property(GLOBAL APPEND PROPERTY TRACKER_JOINED_DEFINITIONS ${ROOM_DEFINITIONS})
    return()
  endif()
  add_library(tracker_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(tracker_${name} PUBLIC "$<BUILD_INTERFACE:${root}>" PRIVATE ${ROOM_INCLUDES})
  target_link_libraries(tracker_${name} PUBLIC ${ROOM_DEPENDS}
    PRIVATE tracker_options ${ROOM_PRIVATE_DEPENDS} ${ROOM_LIBRARIES})
  target_compile_definitions(tracker_${name} PRIVATE ${ROOM_DEFINITIONS})
  set_target_properties(tracker_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  tracker_precompile(tracker_${name} tracker_room_precompiled)
  tracker_join(tracker_${name} ${TRACKER_JOINED_MAX} ALONE ${ROOM_ALONE})
endfunction()

# The archives of a build with TRACKER_JOIN=ON, from what all calls of tracker_room() have said.
function(tracker_joined_rooms)
  foreach(what SOURCES LISTINGS ALONE LIBRARIES INCLUDES DEFINITIONS)
    get_property(${what} GLOBAL PROPERTY TRACKER_JOINED_${what})
  endforeach()
  list(REMOVE_DUPLICATES LIBRARIES)
  add_library(tracker_joined STATIC ${SOURCES})
  add_library(tracker_joined_listings STATIC ${LISTINGS})
  target_link_libraries(tracker_joined_listings PUBLIC tracker_joined)
  foreach(archive tracker_joined tracker_joined_listings)
    target_include_directories(${archive} PRIVATE ${INCLUDES})
    target_link_libraries(${archive} PRIVATE tracker_options ${LIBRARIES})
    target_compile_definitions(${archive} PRIVATE ${DEFINITIONS})
    # Sections: a linker then drops functions that a program does not need, though it takes whole objects of an archive.
    # Shadow: a local name is no fault because another file has the same name outside of functions.
    target_compile_options(${archive} PRIVATE -ffunction-sections -fdata-sections -Wno-shadow)
    target_link_options(${archive} INTERFACE "LINKER:--gc-sections")
    set_target_properties(${archive} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    tracker_precompile(${archive} tracker_room_precompiled)
    get_target_property(here ${archive} SOURCES)
    set(alone ${ALONE})
    foreach(source IN LISTS ALONE)
      if(NOT source IN_LIST here)
        list(REMOVE_ITEM alone "${source}")
      endif()
    endforeach()
    tracker_join(${archive} ${TRACKER_JOINED_MAX} ALONE ${alone})
  endforeach()
endfunction()

# The public headers, for the rooms and tests that include <tracker/...>.
add_library(tracker_headers INTERFACE)
target_include_directories(tracker_headers INTERFACE "${PROJECT_SOURCE_DIR}/include")
