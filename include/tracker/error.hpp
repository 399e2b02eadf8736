// SPDX-License-Identifier: MIT
// Errors in C++: codes, and the exception that init() throws. Included by tracker.hpp.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "tracker.h"

// 1 where this translation unit may throw. Units compiled with and without exceptions can be linked together: the
// inline namespace keeps their functions apart.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define TRACKER_EXCEPTIONS 1
#define TRACKER_INLINE_NAMESPACE throwing
#else
#define TRACKER_EXCEPTIONS 0
#define TRACKER_INLINE_NAMESPACE nothrow
#endif

namespace tracker {
inline namespace TRACKER_INLINE_NAMESPACE {

/// The numbers are those of trk_code.
enum class Code {
  kOk = TRK_OK,
  kInvalid = TRK_INVALID,     ///< an argument is wrong
  kNotFound = TRK_NOT_FOUND,  ///< no such run or store
  kExists = TRK_EXISTS,
  kIo = TRK_IO,  ///< the disk answered with an error
  kCorrupt = TRK_CORRUPT,
  kVersion = TRK_VERSION,  ///< written by a newer version
  kBusy = TRK_BUSY,
  kTimeout = TRK_TIMEOUT,  ///< a bounded wait ended; nothing is lost
  kLimit = TRK_LIMIT,      ///< a documented limit: the point was dropped and counted
  kClosed = TRK_CLOSED,    ///< finished, disabled, gated by its rank, or a forked child
  kUnsupported = TRK_UNSUPPORTED,
};

/// A short English name, such as "not found".
inline const char* to_string(Code code) noexcept { return trk_code_name(static_cast<trk_code>(code)); }

/// Thrown by init() if exceptions are enabled; nothing else in this library throws.
class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

}  // namespace TRACKER_INLINE_NAMESPACE
}  // namespace tracker
