// SPDX-License-Identifier: MIT
// Where an export goes: a file that appears whole, or a pipe, a device or a descriptor that is written as it comes.
#pragma once

#include <string>

#include "base/fs.h"

namespace tracker::internal {

struct OutputTarget {
  std::string path;  // through all links: a rename onto it leaves the links
  Fd opened;         // what is written as it comes; none: a file is made beside `path` and renamed
  bool is_file() const { return !opened; }
};

// Links are followed, at most kOutputLinksMax. A name of a descriptor (/dev/stdout, /dev/fd/3, /proc/self/fd/3) means
// that descriptor, as everywhere, and never the file behind it. kIo: what cannot be opened, or links in a circle.
constexpr int kOutputLinksMax = 40;  // path_resolution(7)
Result<OutputTarget> output_target(const std::string& output);

// kInvalid: `what` is written whole into a file, and `output` is a pipe, a device, a folder or a descriptor.
Status not_a_file(const std::string& output, const char* what);

// `<path>.part-<process>`, new: one that is left of a dead process is removed, and no link in its place is followed.
Result<Fd> create_part(const std::string& path, std::string* part);

}  // namespace tracker::internal
