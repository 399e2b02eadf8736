// SPDX-License-Identifier: MIT
#include "query/suggest.h"

#include <algorithm>
#include <numeric>

namespace tracker::internal {
namespace {

// Levenshtein distance in bytes, two rows of the table at a time.
size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j)
      row[j + 1] = std::min({above[j] + (a[i] == b[j] ? 0 : 1), above[j + 1] + 1, row[j] + 1});
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::vector<std::string> close_names(std::string_view wanted, const std::vector<std::string>& names, size_t count) {
  constexpr size_t kLengthMax = 128;  // longer names are compared by their beginning: the cost is a product of the lengths
  const std::string_view cut = wanted.substr(0, kLengthMax);
  const size_t limit = std::max<size_t>(1, cut.size() / 3);
  std::vector<std::pair<size_t, const std::string*>> found;
  for (const std::string& name : names) {
    const bool part = cut.size() >= 3 && (name.find(cut) != std::string::npos || (name.size() >= 3 && cut.find(name) != std::string_view::npos));
    const size_t edits = edits_between(cut, std::string_view(name).substr(0, kLengthMax));
    if (part || edits <= limit) found.emplace_back(part ? std::min(edits, limit) : edits, &name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (size_t i = 0; i < found.size() && i < count; ++i) out.push_back(*found[i].second);
  return out;
}

std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : close_names(wanted, names)) out += (out.empty() ? "did you mean " : ", ") + name;
  return out.empty() ? out : out + "?";
}

}  // namespace tracker::internal
