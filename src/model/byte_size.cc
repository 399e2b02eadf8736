// SPDX-License-Identifier: MIT
#include "model/byte_size.h"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "model/visible.h"

namespace tracker::internal {
namespace {

struct Unit {
  const char* name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"b", 1},
                           {"k", 1e3},
                           {"kb", 1e3},
                           {"m", 1e6},
                           {"mb", 1e6},
                           {"g", 1e9},
                           {"gb", 1e9},
                           {"t", 1e12},
                           {"tb", 1e12},
                           {"ki", 1024},
                           {"kib", 1024},
                           {"mi", 1048576},
                           {"mib", 1048576},
                           {"gi", 1073741824},
                           {"gib", 1073741824},
                           {"ti", 1099511627776},
                           {"tib", 1099511627776}};
constexpr double kSizeMax = 9e18;

}  // namespace

Result<uint64_t> parse_byte_size(std::string_view what, std::string_view text) {
  const Status wrong(Code::kInvalid, fmt::format("{}=\"{}\": expected a number of bytes, such as 10GB, 512MiB or "
                                                 "1000000000",
                                                 what, visible(text.substr(0, 100))));
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return wrong;
  std::string unit;
  for (const char c : text.substr(static_cast<size_t>(end - text.data())))
    if (c != ' ' || !unit.empty()) unit += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (const Unit& known : kUnits)
    if (unit == known.name) {
      const double bytes = number * known.bytes;
      return bytes <= kSizeMax ? Result<uint64_t>(static_cast<uint64_t>(bytes)) : Result<uint64_t>(wrong);
    }
  return wrong;
}

}  // namespace tracker::internal
