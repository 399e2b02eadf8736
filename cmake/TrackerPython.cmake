# SPDX-License-Identifier: MIT
# tracker_python_module(SOURCES ... DEPENDS ...): the module tracker._core.
#
# In a build of this tree the module and links to python/tracker/* make up build/python/tracker, so that
# PYTHONPATH=build/python imports the package as it is in the sources. In a wheel it is installed beside them.
if(NOT Python_EXECUTABLE AND NOT SKBUILD AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH "The interpreter of make deps")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT pybind11_DIR)
  execute_process(COMMAND "${Python_EXECUTABLE}" -m pybind11 --cmakedir OUTPUT_VARIABLE pybind11_DIR
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 CONFIG)

function(tracker_python_module)
  cmake_parse_arguments(MODULE "" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT pybind11_FOUND)
    message(WARNING "pybind11 is not installed for ${Python_EXECUTABLE}: the Python module is not built; "
      "run make deps, or set TRACKER_BUILD_PYTHON=OFF to say that none is wanted")
    return()
  endif()
  # NO_EXTRAS: no link-time optimisation and no stripping behind our back; the build type decides.
  pybind11_add_module(_core MODULE NO_EXTRAS ${MODULE_SOURCES})
  target_link_libraries(_core PRIVATE tracker_options ${MODULE_DEPENDS})
  tracker_export_only(_core "PyInit__core")
  set(package "${PROJECT_BINARY_DIR}/python/tracker")
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${package}")
  install(TARGETS _core LIBRARY DESTINATION tracker COMPONENT python EXCLUDE_FROM_ALL)
  if(TARGET tracker_http)
    add_dependencies(_core tracker_http)
    install(TARGETS tracker_http LIBRARY DESTINATION tracker COMPONENT python EXCLUDE_FROM_ALL)
  endif()
  if(NOT SKBUILD)
    add_custom_target(tracker_python_package ALL
      COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}/python/tracker" "-DPACKAGE=${package}"
        -P "${PROJECT_SOURCE_DIR}/cmake/LinkPackage.cmake"
      COMMENT "Linking python/tracker into build/python")
  endif()
endfunction()
