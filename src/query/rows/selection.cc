// SPDX-License-Identifier: MIT
#include "query/rows/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace tracker::internal {
namespace {

constexpr size_t kNamedMax = 10;  // attempts or ranks that an error names

Status check_range(std::string_view what, const std::optional<Int64Range>& range) {
  if (!range || range->min <= range->max) return {};
  return Status(Code::kInvalid, fmt::format("{}: {} is greater than {}", what, range->min, range->max));
}

bool holds(const std::optional<std::vector<int64_t>>& wanted, int64_t number) {
  return !wanted || std::find(wanted->begin(), wanted->end(), number) != wanted->end();
}

Status check_numbers(std::string_view what, const std::optional<std::vector<int64_t>>& wanted,
                     const std::vector<WriterSnapshot>& writers, int64_t WriterIdentity::* number) {
  if (!wanted) return {};
  if (wanted->empty()) return Status(Code::kInvalid, fmt::format("{}s: an empty list", what));
  std::set<int64_t> known;
  for (const WriterSnapshot& writer : writers) known.insert(writer.identity.*number);
  for (const int64_t one : *wanted) {
    if (known.contains(one)) continue;
    std::vector<int64_t> named(known.begin(), known.end());
    const bool more = named.size() > kNamedMax;
    if (more) named.resize(kNamedMax);
    return Status(Code::kNotFound,
                  fmt::format("the run has no {} {}; it has {}{}", what, one,
                              named.empty() ? "none" : fmt::format("{}", fmt::join(named, ", ")), more ? ", …" : ""));
  }
  return {};
}

}  // namespace

Status check_selection(const Selection& selection, const std::vector<WriterSnapshot>& writers) {
  TRACKER_RETURN_IF_ERROR(check_range("steps", selection.steps));
  TRACKER_RETURN_IF_ERROR(check_range("times", selection.times_us));
  TRACKER_RETURN_IF_ERROR(check_numbers("attempt", selection.attempts, writers, &WriterIdentity::attempt));
  return check_numbers("rank", selection.ranks, writers, &WriterIdentity::rank);
}

bool selects(const Selection& selection, const WriterIdentity& writer) {
  return holds(selection.attempts, writer.attempt) && holds(selection.ranks, writer.rank);
}

}  // namespace tracker::internal
