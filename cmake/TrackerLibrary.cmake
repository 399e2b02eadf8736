# SPDX-License-Identifier: MIT
# The targets that users meet: the shared library tracker::tracker and the program `tracker`, over the static rooms.

# A link with `symbols` as the only exported ones, the rest local. The rooms, and the libraries linked statically into
# them, then cannot clash with other copies in the process that loads us.
function(tracker_export_only target symbols)
  set(map "${PROJECT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${map}" CONTENT "{ global: ${symbols}; local: *; };\n")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" "LINKER:--no-undefined")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
endfunction()

# The public headers; rooms and tests that include <tracker/...> link it.
add_library(tracker_headers INTERFACE)
target_include_directories(tracker_headers INTERFACE "${PROJECT_SOURCE_DIR}/include")
