// SPDX-License-Identifier: MIT
#include "query/view/attempts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "query/rows/resolve.h"
#include "query/view/environment.h"
#include "query/view/rank_status.h"
#include "query/view/run_state.h"

namespace tracker::internal {
namespace {

// Rows as the resolver sees them: columns of somebody else. `source` of each row; empty: all of source 0.
struct ResolverRows {
  const std::vector<int64_t>& steps;
  const std::vector<uint8_t>& has_step;
  const std::vector<uint32_t>& source;
  const std::vector<RowSource>& sources;
};

// Sources in the order in which later ones win: by attempt, then the lower rank, then the order they came in.
std::vector<uint32_t> winning_order(const std::vector<RowSource>& sources) {
  std::vector<uint32_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&sources](uint32_t a, uint32_t b) {
    return std::make_tuple(sources[a].attempt, -sources[a].rank) <
           std::make_tuple(sources[b].attempt, -sources[b].rank);
  });
  return order;
}

// All rows, those of winning sources later. Empty when they are in that order already.
std::vector<size_t> rows_by_source(const std::vector<uint32_t>& source, const std::vector<uint32_t>& order) {
  if (std::is_sorted(order.begin(), order.end()) && std::is_sorted(source.begin(), source.end())) return {};
  std::vector<std::vector<size_t>> of_source(order.size());
  for (size_t row = 0; row < source.size(); ++row) of_source[source[row]].push_back(row);
  std::vector<size_t> out;
  out.reserve(source.size());
  for (const uint32_t each : order) out.insert(out.end(), of_source[each].begin(), of_source[each].end());
  return out;
}

template <typename T>
std::vector<T> picked(const std::vector<T>& column, const std::vector<size_t>& order) {
  std::vector<T> out;
  if (column.empty()) return out;
  out.reserve(order.size());
  for (const size_t row : order) out.push_back(column[row]);
  return out;
}

// As resolved_order(), but of a source's rows the first one of a step counts: the rows of each are read backwards, so
// that the first comes last. Rows are contiguous by source.
std::vector<size_t> first_of_each_step(const ResolverRows& rows) {
  std::vector<size_t> turned(rows.steps.size());
  for (size_t begin = 0; begin < turned.size();) {
    size_t end = begin + 1;
    while (end < turned.size() && (rows.source.empty() || rows.source[end] == rows.source[begin])) ++end;
    for (size_t i = begin; i < end; ++i) turned[i] = begin + (end - 1 - i);
    begin = end;
  }
  const auto order = resolved_order(picked(rows.steps, turned), picked(rows.has_step, turned));
  return picked(turned, order);
}

std::vector<size_t> resolved(const ResolverRows& rows, DuplicatePolicy policy) {
  const bool first = policy == DuplicatePolicy::kFirst;
  const std::vector<size_t> grouped = rows_by_source(rows.source, winning_order(rows.sources));
  if (grouped.empty() && !first) return resolved_order(rows.steps, rows.has_step);
  std::vector<size_t> out;
  if (grouped.empty()) {
    out = first_of_each_step(rows);
  } else {
    const auto steps = picked(rows.steps, grouped);
    const auto has_step = picked(rows.has_step, grouped);
    const auto source = picked(rows.source, grouped);
    const ResolverRows moved{steps, has_step, source, rows.sources};
    out = picked(grouped, first ? first_of_each_step(moved) : resolved_order(steps, has_step));
  }
  // Rows without a step were moved too: they are kept as they came.
  const auto without_step = std::stable_partition(
      out.begin(), out.end(), [&rows](size_t row) { return rows.has_step.empty() || rows.has_step[row] != 0; });
  std::sort(without_step, out.end());
  return out;
}

}  // namespace

std::vector<AttemptInfo> attempts_of(const std::vector<WriterSnapshot>& writers, const std::vector<Liveness>& liveness,
                                     int64_t now_us) {
  std::map<int64_t, AttemptInfo> by_number;
  std::map<int64_t, std::tuple<int64_t, int64_t>> first;  // who speaks for it: the lowest rank, the first started
  Shadow shadow(writers);
  for (size_t i = 0; i < writers.size(); ++i) {
    const WriterSnapshot& writer = writers[i];
    const WriterIdentity& id = writer.identity;
    AttemptInfo& info = by_number[id.attempt];
    const auto key = std::make_tuple(id.rank, id.started_us);
    const auto [at, is_new] = first.emplace(id.attempt, key);
    if (is_new || key < at->second) {
      at->second = key;
      info.attempt = id.attempt;
      info.continues = id.continues;
      info.resume_step = id.resume_step;
      info.state = writer_state_text(writer, liveness.empty() ? Liveness::kUnknown : liveness[i], now_us);
    }
    info.last_seen_us = std::max(info.last_seen_us, last_seen_us(writer));
    info.started_us = is_new ? id.started_us : std::min(info.started_us, id.started_us);
    ++info.writers;
    info.points += own_points(writer).stored;
  }
  std::vector<AttemptInfo> out;
  for (auto& [number, info] : by_number) {
    if (const int64_t limit = shadow.shown_up_to(number); limit != INT64_MAX) info.shown_up_to = limit;
    out.push_back(info);
  }
  return out;
}

int64_t attempt_to_continue(const std::vector<AttemptInfo>& attempts, std::optional<int64_t> step) {
  if (attempts.empty()) return 0;
  int64_t number = attempts.back().attempt;
  // What an attempt resumed at `step` or a later step logged is not in the view there: it branched off later.
  for (size_t guard = attempts.size(); step && guard > 0; --guard) {
    const auto at = std::find_if(attempts.begin(), attempts.end(),
                                 [number](const AttemptInfo& info) { return info.attempt == number; });
    if (at == attempts.end() || !at->resume_step || *at->resume_step < *step || at->continues == 0) break;
    number = at->continues;
  }
  return number;
}

Shadow::Shadow(const std::vector<WriterSnapshot>& writers) {
  for (const WriterSnapshot& writer : writers) add(writer.identity);
}

void Shadow::add(const WriterIdentity& writer) {
  if (writer.resume_step) cuts_.push_back({writer.attempt, *writer.resume_step});
}

int64_t Shadow::shown_up_to(int64_t attempt) const {
  int64_t limit = INT64_MAX;
  for (const Cut& cut : cuts_)
    if (cut.attempt > attempt) limit = std::min(limit, cut.step);
  return limit;
}

Shadow shadow_of(const std::vector<WriterSnapshot>& writers, const Selection& selection) {
  std::map<int64_t, int64_t> began;  // by attempt
  for (const WriterSnapshot& writer : writers) {
    const auto [at, is_new] = began.emplace(writer.identity.attempt, writer.identity.started_us);
    if (!is_new) at->second = std::min(at->second, writer.identity.started_us);
  }
  Selection whole_attempts = selection;
  whole_attempts.ranks.reset();
  Shadow shadow;
  for (const WriterSnapshot& writer : writers) {
    const bool later = selection.times_us && began[writer.identity.attempt] > selection.times_us->max;
    if (!later && selects(whole_attempts, writer.identity)) shadow.add(writer.identity);
  }
  return shadow;
}

DuplicatePolicy duplicate_policy_of(std::string_view name) {
  return name == "first" ? DuplicatePolicy::kFirst : DuplicatePolicy::kLast;
}

void drop_shadowed(const Shadow& shadow, History* history) {
  if (!shadow.any()) return;
  std::vector<int64_t> limits;
  for (const RowSource& source : history->sources) limits.push_back(shadow.shown_up_to(source.attempt));
  if (std::all_of(limits.begin(), limits.end(), [](int64_t limit) { return limit == INT64_MAX; })) return;
  std::vector<size_t> shown;
  for (size_t row = 0; row < history->size(); ++row) {
    const int64_t limit = limits[history->source.empty() ? 0 : history->source[row]];
    if (!history->row_has_step(row) || history->steps[row] <= limit) shown.push_back(row);
  }
  if (shown.size() < history->size()) select_rows(history, shown);
}

void resolve_rows(const Shadow& shadow, DuplicatePolicy policy, History* history) {
  drop_shadowed(shadow, history);
  if (is_resolved(history->steps, history->has_step)) return;
  select_rows(history, resolved({history->steps, history->has_step, history->source, history->sources}, policy));
}

void drop_shadowed(const Shadow& shadow, std::vector<TextRow>* rows) {
  if (shadow.any())
    std::erase_if(*rows, [&shadow](const TextRow& r) { return r.has_step && r.step > shadow.shown_up_to(r.attempt); });
}

void resolve_rows(const Shadow& shadow, DuplicatePolicy policy, std::vector<TextRow>* rows) {
  drop_shadowed(shadow, rows);
  std::vector<int64_t> steps;
  std::vector<uint8_t> has_step;
  std::vector<uint32_t> source;
  std::vector<RowSource> sources;
  std::map<Id128, uint32_t> known;
  for (const TextRow& row : *rows) {
    steps.push_back(row.step);
    has_step.push_back(row.has_step ? 1 : 0);
    const auto [at, is_new] = known.emplace(row.writer, sources.size());
    if (is_new) sources.push_back({row.attempt, row.rank, row.writer});
    source.push_back(at->second);
  }
  if (is_resolved(steps, has_step)) return;
  std::vector<TextRow> out;
  for (const size_t row : resolved({steps, has_step, source, sources}, policy)) out.push_back(std::move((*rows)[row]));
  rows->swap(out);
}

}  // namespace tracker::internal
