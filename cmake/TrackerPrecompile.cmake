# SPDX-License-Identifier: MIT
# Precompiled headers of other people's code, in builds that join files (cmake/TrackerJoin.cmake): two of the five
# seconds that a test takes to compile.
set(TRACKER_STANDARD_HEADERS <algorithm> <atomic> <chrono> <functional> <map> <memory> <optional> <set> <string>
  <string_view> <variant> <vector>)

# tracker_precompiled(name [POSITION_INDEPENDENT] HEADERS ... DEPENDS ...): makes the headers' target; who
# uses them must have its flags, and lie in the folder that calls this or below.
macro(tracker_precompiled name)
  add_compile_options(-pthread)  # it defines a macro, and all who use precompiled headers must define the same
  _tracker_precompiled(${name} ${ARGN})
endmacro()
function(_tracker_precompiled name)
  cmake_parse_arguments(PRECOMPILED "POSITION_INDEPENDENT" "" "HEADERS;DEPENDS" ${ARGN})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// A target must have a source.\n")
  add_library(${name} OBJECT "${source}")
  target_link_libraries(${name} PRIVATE tracker_options ${PRECOMPILED_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_HEADERS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE "${PRECOMPILED_POSITION_INDEPENDENT}")
endfunction()

function(tracker_precompile target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
