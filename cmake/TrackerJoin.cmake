# SPDX-License-Identifier: MIT
# Many files of a target compiled as one: what they instantiate of the standard library, GoogleTest and pybind11 is most
# of the time to compile a short file, and is then compiled once for all of them. TRACKER_JOIN is one of
#   OFF   each file by itself, without precompiled headers: an include that is missing is found, a change costs one file
#   ROOM  the files of a room and of a test program are joined: the sanitizers, which build some of the rooms
#   ON    the rooms are joined with each other too, in half the time: users, the demo, .ci/run
# A name without linkage that two files have is an error in a joined build ("redefinition"): rename it. ALONE names a
# file that is never joined with others.
set(TRACKER_JOIN "ON" CACHE STRING "OFF | ROOM | ON: what is compiled together (cmake/TrackerJoin.cmake)")
set(TRACKER_JOINED_MAX 36)  # files; 0.9 GB of memory for the compiler at -O2
set(TRACKER_JOINED_TESTS_MAX 16)  # a GB under AddressSanitizer

# tracker_join(target max [ALONE sources]): called in the folder that made the target, or ALONE has no effect.
function(tracker_join target max)
  cmake_parse_arguments(JOIN "" "" "ALONE" ${ARGN})
  if(NOT TRACKER_JOIN)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources all)
  list(LENGTH JOIN_ALONE alone)
  math(EXPR groups "(${all} - ${alone} + ${max} - 1) / ${max}")
  if(groups GREATER 0)
    math(EXPR size "(${all} - ${alone} + ${groups} - 1) / ${groups}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    set_source_files_properties(${JOIN_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()
