# SPDX-License-Identifier: MIT
# tracker_test(name LABEL unit|integration|fault SOURCES ... [ALONE ...] DEPENDS ...): one GoogleTest program, each of
# its tests a ctest of its own, so that a crash or a hang takes nothing else with it. tracker_tests builds all of them.
# ALONE: those of SOURCES that are never joined with others (cmake/TrackerJoin.cmake).
find_package(GTest REQUIRED)
include(GoogleTest)
option(TRACKER_SANITIZE_ALL "Build all tests under a sanitizer, not those of .ci/run alone (tests/CMakeLists.txt)" OFF)
add_custom_target(tracker_tests)

function(tracker_test name)
  cmake_parse_arguments(TEST "" "LABEL;TIMEOUT_S" "SOURCES;ALONE;DEPENDS" ${ARGN})
  if(TEST_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tracker_test(${name}): what is ${TEST_UNPARSED_ARGUMENTS}?")
  endif()
  if(NOT TEST_LABEL)
    set(TEST_LABEL unit)
  endif()
  if(NOT TEST_TIMEOUT_S)
    set(TEST_TIMEOUT_S 120)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE tracker_options ${TEST_DEPENDS} GTest::gmock GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_dependencies(tracker_tests ${name})
  tracker_precompile(${name} tracker_test_precompiled)
  tracker_join(${name} ${TRACKER_JOINED_TESTS_MAX} ALONE ${TEST_ALONE})
  # Tests are listed when ctest runs, not while building: a test program that cannot start is a failed test, no
  # failed build.
  # Those with crashes and waits are long: they begin first, and the short ones fill what they leave.
  set(cost 1)
  if(TEST_LABEL STREQUAL "fault")
    set(cost 100)
  endif()
  # What a run records of its surroundings is looked at by tests of its own: elsewhere frames and points are counted.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${TEST_LABEL}/"
    PROPERTIES LABELS ${TEST_LABEL} TIMEOUT ${TEST_TIMEOUT_S} COST ${cost} ENVIRONMENT TRACKER_CAPTURE=none)
endfunction()
