# SPDX-License-Identifier: MIT
# Precompiled headers of other people's code: two of the five seconds that a test takes to compile. Only the
# sanitizer presets use them, and they join files too (cmake/TrackerJoin.cmake); dev reads each file of the library
# alone, so an include that is missing is still found.
option(TRACKER_PRECOMPILE "Precompile the headers of the standard library, fmt and GoogleTest" OFF)

if(TRACKER_PRECOMPILE)
  add_compile_options(-pthread)  # it defines a macro, and all who use precompiled headers must define the same
endif()
set(TRACKER_STANDARD_HEADERS <algorithm> <atomic> <chrono> <functional> <map> <memory> <optional> <set> <string>
  <string_view> <variant> <vector>)

# tracker_precompiled(name [POSITION_INDEPENDENT] HEADERS ... DEPENDS ...): makes the headers' target; who
# uses them must have its flags.
function(tracker_precompiled name)
  cmake_parse_arguments(PRECOMPILED "POSITION_INDEPENDENT" "" "HEADERS;DEPENDS" ${ARGN})
  if(NOT TRACKER_PRECOMPILE)
    return()
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// A target must have a source.\n")
  add_library(${name} OBJECT "${source}")
  target_link_libraries(${name} PRIVATE tracker_options ${PRECOMPILED_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_HEADERS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE "${PRECOMPILED_POSITION_INDEPENDENT}")
endfunction()

function(tracker_precompile target name)
  if(TRACKER_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
