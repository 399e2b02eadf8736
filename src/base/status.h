// SPDX-License-Identifier: MIT
// Status and Result: how every fallible function below the C ABI reports. Nothing here throws.
// Threads: values, no sharing. Cost: an ok Status is one null pointer; a failure allocates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tracker::internal {

// The closed set of failures. The numbers are those of trk_status in tracker.h: do not change them.
enum class Code : int {
  kOk = 0,
  kInvalid = 1,       // an argument or a value is wrong; the message says what was expected
  kNotFound = 2,      // no such run, store, series or file
  kExists = 3,        // the thing to create exists
  kIo = 4,            // the disk or the database reported an error (ENOSPC, EIO, EROFS, ...)
  kCorrupt = 5,       // bytes that are not what their format says; the message names file and offset
  kVersion = 6,       // written by a version that this one cannot read
  kBusy = 7,          // another process or thread holds the lock; try again
  kTimeout = 8,       // a bounded wait ended
  kLimit = 9,         // a documented limit was reached
  kClosed = 10,       // the run is finished, disabled or belongs to a parent process
  kUnsupported = 11,  // not on this platform or file system
};

std::string_view code_name(Code code);

// The message, with kVersion, for a file that tracker wrote before its first release.
constexpr std::string_view kUnreleasedState =
    "is of an earlier, unreleased state of tracker, which this version cannot read";

// A code, a message with the failing path, key or statement, and a hint: what is safe or what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string hint = "");
  static Status from_errno(int error, std::string_view what, std::string_view path = "");

  bool ok() const { return detail_ == nullptr; }
  Code code() const { return detail_ ? detail_->code : Code::kOk; }
  const std::string& message() const;
  const std::string& hint() const;
  int system_errno() const { return detail_ ? detail_->system_errno : 0; }
  // "message (hint)", one line.
  std::string to_string() const;

 private:
  struct Detail {
    Code code = Code::kOk;
    int system_errno = 0;
    std::string message;
    std::string hint;
  };
  std::shared_ptr<const Detail> detail_;
};

// A value, or the Status with the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T value_or(T other) const { return value_ ? *value_ : std::move(other); }

 private:
  std::optional<T> value_;
  Status status_;
};

#define TRACKER_RETURN_IF_ERROR(expression)                     \
  do {                                                          \
    ::tracker::internal::Status tracker_status_ = (expression); \
    if (!tracker_status_.ok()) return tracker_status_;          \
  } while (false)

}  // namespace tracker::internal
