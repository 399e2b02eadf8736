/* SPDX-License-Identifier: MIT */
/* The one place where the version is written; CMake and pyproject.toml read it from here. */
#ifndef TRACKER_VERSION_H_
#define TRACKER_VERSION_H_
#define TRK_VERSION_MAJOR 0
#define TRK_VERSION_MINOR 1
#define TRK_VERSION_PATCH 0
#define TRK_VERSION_STRING "0.1.0"
#endif
