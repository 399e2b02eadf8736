# SPDX-License-Identifier: MIT
# Compile options shared by every target of ours: C++20, hidden symbols, warnings, sanitizers.
add_library(tracker_options INTERFACE)
target_compile_features(tracker_options INTERFACE cxx_std_20)
target_compile_options(tracker_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # gcc 12 and 13 see an overlap in "text" + std::string() that is none (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${TRACKER_WERROR}>:-Werror>
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
if(PROJECT_IS_TOP_LEVEL)
  # One optimisation level for what is tested and measured (RelWithDebInfo) and what is shipped (Release).
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  # Users need no debug information, and dev and Release then share objects in the compiler cache.
  if(TRACKER_JOIN STREQUAL "ON" AND NOT TRACKER_SANITIZE)
    string(REPLACE " -g1" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  endif()
endif()
# Of a target that is a test's own code; tests/CMakeLists.txt sets it for all of them. Checks of null pointers and of
# alignment are a third of the time that AddressSanitizer's build takes for a test, half of what it makes, and find in
# it what a crash finds as well. Rooms and the Python module have them; of an inline function in a header of theirs the
# linker may take the test's copy.
define_property(TARGET PROPERTY TRACKER_TESTS_CODE INITIALIZE_FROM_VARIABLE TRACKER_TESTS_CODE)
if(TRACKER_SANITIZE STREQUAL "address")
  target_compile_options(tracker_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined $<$<BOOL:$<TARGET_PROPERTY:TRACKER_TESTS_CODE>>:-fno-sanitize=null,alignment>)
  target_link_options(tracker_options INTERFACE -fsanitize=address,undefined)
elseif(TRACKER_SANITIZE STREQUAL "fuzz")  # clang's libFuzzer; tests/fuzz links its main
  target_compile_options(tracker_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined)
  target_link_options(tracker_options INTERFACE -fsanitize=address,undefined)
elseif(TRACKER_SANITIZE STREQUAL "thread")
  target_compile_options(tracker_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(tracker_options INTERFACE -fsanitize=thread)
endif()
if(TRACKER_SANITIZE)
  # Of a test under AddressSanitizer 54 of 166 MB are relocations of its records: fixed addresses need none.
  target_link_options(tracker_options INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
set(TRACKER_LINKER "" CACHE STRING "mold, lld ...: a linker to use where it is installed; empty: the compiler's own")
if(TRACKER_LINKER)
  find_program(TRACKER_LINKER_PROGRAM "${TRACKER_LINKER}")
  if(TRACKER_LINKER_PROGRAM)
    target_link_options(tracker_options INTERFACE "-fuse-ld=${TRACKER_LINKER}")
  endif()
endif()
find_program(TRACKER_CCACHE ccache)
if(TRACKER_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Objects are told apart by paths relative to the sources: clones, and the wheel's build folder, share them.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${TRACKER_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

if(TRACKER_SANITIZE)
  # gcc 12 takes moved-from members of std::variant for uninitialised once a sanitizer has changed the inlining.
  target_compile_options(tracker_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
