// SPDX-License-Identifier: MIT
// The output of an export: a file that appears complete, or a pipe, a device or a descriptor that is written directly.
#pragma once

#include <string>

#include "base/fs.h"

namespace tracker::internal {

struct OutputTarget {
  std::string path;  // after all links, so that a rename onto it leaves the links
  Fd opened;         // written directly; none: a temporary file is written beside `path` and renamed
  bool is_file() const { return !opened; }
};

// Links are followed, at most kOutputLinksMax. The name of a descriptor (/dev/stdout, /dev/fd/3, /proc/self/fd/3) means
// that descriptor and never its file. kIo: it cannot be opened, or the links form a circle.
constexpr int kOutputLinksMax = 40;  // path_resolution(7)
Result<OutputTarget> output_target(const std::string& output);

// kInvalid: `what` is written only to a file, and `output` is a pipe, a device, a folder or a descriptor.
Status not_a_file(const std::string& output, const char* what);

// Creates `<path>.part-<process>`: one of a dead process is removed first, and a link with that name is not followed.
Result<Fd> create_part(const std::string& path, std::string* part);

}  // namespace tracker::internal
