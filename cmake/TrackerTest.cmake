# SPDX-License-Identifier: MIT
# tracker_test(name LABEL unit|integration|fault SOURCES ... DEPENDS ...): one GoogleTest program, each of its tests a
# ctest of its own, so that a crash or a hang takes nothing else with it.
find_package(GTest REQUIRED)
include(GoogleTest)

function(tracker_test name)
  cmake_parse_arguments(TEST "" "LABEL;TIMEOUT_S" "SOURCES;DEPENDS" ${ARGN})
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
  # Tests are listed when ctest runs, not while building: a test program that cannot start is a failed test, no
  # failed build.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${TEST_LABEL}/"
    PROPERTIES LABELS ${TEST_LABEL} TIMEOUT ${TEST_TIMEOUT_S})
endfunction()
