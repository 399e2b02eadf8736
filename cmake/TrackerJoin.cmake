# SPDX-License-Identifier: MIT
# Several files of a target compiled as one: what they instantiate of the standard library, GoogleTest and pybind11 is
# most of the time to compile a short file, and is then compiled once for all of them. The sanitizer presets do so, and
# dev with TRACKER_JOIN=ON in the environment, as .ci/run and a first build of make have it. Everywhere else each file
# is compiled by itself: an include that is missing is found, and a change costs one file.
#
# A name without linkage that two joined files have is an error there ("redefinition"): rename it, or name one of the
# files again as ALONE. ALONE too is what only listings need because it leads to RE2: a linker takes of an archive
# whole objects, and the shared library must not load it.
option(TRACKER_JOIN_TESTS "Compile up to TRACKER_JOINED_MAX files of a test program as one" OFF)
option(TRACKER_JOIN_SOURCES "The same for all rooms and the Python module" OFF)
set(TRACKER_JOINED_MAX 16)  # a GB of memory for the compiler under AddressSanitizer

# tracker_join(target [ALONE sources]): called where the target is made, or ALONE has no effect.
function(tracker_join target)
  cmake_parse_arguments(JOIN "" "" "ALONE" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources all)
  list(LENGTH JOIN_ALONE alone)
  math(EXPR groups "(${all} - ${alone} + ${TRACKER_JOINED_MAX} - 1) / ${TRACKER_JOINED_MAX}")
  math(EXPR size "(${all} - ${alone} + ${groups} - 1) / ${groups}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  set_source_files_properties(${JOIN_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
