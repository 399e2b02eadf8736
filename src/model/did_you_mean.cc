// SPDX-License-Identifier: MIT
#include "model/did_you_mean.h"

#include <algorithm>
#include <utility>

namespace tracker::internal {
namespace {

constexpr size_t kComparedBytesMax = 128;  // longer names are compared by their beginning

// Inserted, missing, replaced and swapped letters.
size_t edits(std::string_view a, std::string_view b) {
  a = a.substr(0, kComparedBytesMax);
  b = b.substr(0, kComparedBytesMax);
  std::vector<size_t> row(b.size() + 1), above(b.size() + 1), two_above;
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> close_names(std::string_view name, const std::vector<std::string>& names, size_t limit) {
  std::vector<std::pair<size_t, std::string_view>> near;
  const std::string_view half = name.substr(0, (name.size() + 1) / 2);
  for (const std::string& other : names) {
    const size_t distance = edits(name, other);
    const size_t far = std::max(name.size(), other.size()) / 2;
    const bool related =
        name.size() >= 3 && (other.find(name) != std::string::npos || (other.rfind(half, 0) == 0 && distance <= far));
    if (distance <= std::max<size_t>(1, name.size() / 3) || related) near.emplace_back(distance, other);
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  if (near.size() > limit) near.resize(limit);
  std::vector<std::string> out;
  for (const auto& [distance, other] : near) out.emplace_back(other);
  return out;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  return did_you_mean(close_names(name, names));
}

std::string did_you_mean(const std::vector<std::string>& meant) {
  std::string out;
  for (size_t i = 0; i < meant.size(); ++i) {
    out += i == 0 ? "; did you mean " : i + 1 == meant.size() ? " or " : ", ";
    out += meant[i];
  }
  return out.empty() ? out : out + "?";
}

}  // namespace tracker::internal
