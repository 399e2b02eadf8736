// SPDX-License-Identifier: MIT
#include "query/view/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "query/view/rank_status.h"

namespace tracker::internal {
namespace {

// Whether this writer may still write: it recorded no end, no process recovered it, and its own process is there as far
// as is known.
bool may_write(const WriterSnapshot& writer, Liveness liveness, int64_t now_us) {
  if (writer.end || writer.recovered) return false;
  if (liveness == Liveness::kUnknown) return seen_lately(writer, now_us);
  return liveness == Liveness::kLive;
}

std::string end_detail(const WriterEnd& end) {
  if (end.state == RunState::kFinished && end.exit_code == 0) return end.reason;
  if (end.exit_code == 0) return end.reason;
  const std::string code = fmt::format("exit code {}", end.exit_code);
  return end.reason.empty() ? code : fmt::format("{}: {}", code, end.reason);
}

StateVerdict without_end(const WriterSnapshot& leader, Liveness liveness) {
  StateVerdict out;
  out.ended_us = last_seen_us(leader);
  if (const Value* why = preempted(leader)) {
    out.state = RunState::kPreempted;
    out.detail = why->as_text() != nullptr ? *why->as_text() : "";
    return out;
  }
  if (liveness == Liveness::kUnknown && !leader.recovered) {
    out.state = RunState::kLostContact;
    out.detail = fmt::format("no sign of life from host {} for over {} s", leader.identity.host,
                             kHeartbeatTrust.count() / 1'000'000);
    return out;
  }
  out.state = RunState::kCrashed;
  if (leader.recovered) out.detail = leader.recovered->text_or("hint", "");
  return out;
}

StateVerdict without_writers(const AttemptWithoutData& silent, int64_t now_us) {
  const std::string which = silent.attempt > 1 ? fmt::format("attempt {}: ", silent.attempt) : "";
  if (may_begin(silent, now_us)) return {RunState::kRunning, which + "nothing recorded yet", 0};
  const char* const what =
      silent.maker == Liveness::kDead ? "its process ended before anything was stored" : "no writer recorded anything";
  return {RunState::kCrashed, which + what, silent.begun_us};
}

// The ranks that ended without an end beside a leader that has one: "rank 3 crashed", "2 ranks crashed, the first is
// 3".
std::string dead_ranks(const std::vector<WriterSnapshot>& writers, const WriterIdentity& leader) {
  std::set<int64_t> dead;
  for (const WriterSnapshot& writer : writers)
    if (writer.identity.attempt == leader.attempt && writer.identity.rank != leader.rank &&
        writer.known_end() == nullptr && preempted(writer) == nullptr)
      dead.insert(writer.identity.rank);
  if (dead.empty()) return "";
  if (dead.size() == 1) return fmt::format("rank {} crashed", *dead.begin());
  return fmt::format("{} ranks crashed, the first is {}", dead.size(), *dead.begin());
}

// A process that was stopped, or cut off, while another resumed its run, and went on after the end of that one. What
// the newest attempt says still counts, as its rows do: readers see them, and the times of two machines may differ. But
// it is said.
std::string outlived_by(const std::vector<WriterSnapshot>& writers, const std::vector<Liveness>& liveness,
                        int64_t newest, int64_t ended_us, int64_t now_us) {
  std::map<int64_t, std::string> attempts;
  for (size_t i = 0; i < writers.size(); ++i)
    if (writers[i].identity.attempt < newest && last_seen_us(writers[i]) > ended_us)
      attempts.emplace(writers[i].identity.attempt, writer_state_text(writers[i], liveness[i], now_us));
  if (attempts.empty()) return "";
  const auto& [number, state] = *attempts.rbegin();
  const std::string text = fmt::format("attempt {} went on after the end of attempt {}: {}", number, newest, state);
  return attempts.size() == 1 ? text : fmt::format("{}, and {} more", text, attempts.size() - 1);
}

void add_detail(const std::string& text, StateVerdict* verdict) {
  if (!text.empty()) verdict->detail += (verdict->detail.empty() ? "" : "; ") + text;
}

}  // namespace

const Value* preempted(const WriterSnapshot& writer) {
  for (const Attribute& attribute : writer.attributes)
    if (attribute.type == EventType::kAttribute && attribute.key == kPreemptedKey) return &attribute.value;
  return nullptr;
}

int64_t last_seen_us(const WriterSnapshot& writer) {
  int64_t newest = std::max(writer.heartbeat_us, writer.identity.started_us);
  for (const SeriesStats& series : writer.series)
    if (series.points > 0) newest = std::max(newest, series.time_last_us);
  if (const WriterEnd* end = writer.known_end()) newest = std::max(newest, end->time_us);
  return newest;
}

bool seen_lately(const WriterSnapshot& writer, int64_t now_us) {
  return last_seen_us(writer) > now_us - kHeartbeatTrust.count();
}

const WriterSnapshot* leading_writer(const std::vector<WriterSnapshot>& writers) {
  const auto order = [](const WriterSnapshot& w) {
    return std::make_tuple(~w.identity.attempt, w.identity.rank, w.identity.started_us, w.identity.writer);
  };
  const auto leader = std::min_element(writers.begin(), writers.end(),
                                       [&order](const auto& a, const auto& b) { return order(a) < order(b); });
  return leader == writers.end() ? nullptr : &*leader;
}

StateVerdict decide_state(const std::vector<WriterSnapshot>& writers, const std::vector<Liveness>& liveness,
                          const std::vector<AttemptWithoutData>& silent, int64_t created_us, int64_t now_us) {
  const WriterSnapshot* leader = leading_writer(writers);
  if (leader == nullptr)
    return without_writers(silent.empty() ? AttemptWithoutData{1, created_us} : silent.back(), now_us);
  for (size_t i = 0; i < writers.size(); ++i)
    if (may_write(writers[i], liveness[i], now_us)) return {RunState::kRunning, "", 0};
  if (!silent.empty() && silent.back().attempt > leader->identity.attempt)
    return without_writers(silent.back(), now_us);
  StateVerdict out;
  const WriterEnd* end = leader->known_end();
  if (end == nullptr) {
    out = without_end(*leader, liveness[static_cast<size_t>(leader - writers.data())]);
  } else {
    out = {end->state, end_detail(*end), end->time_us};
    if (!leader->end) add_detail("the end is not stored yet: it waits in the journal", &out);
    add_detail(dead_ranks(writers, leader->identity), &out);
  }
  add_detail(outlived_by(writers, liveness, leader->identity.attempt, out.ended_us, now_us), &out);
  return out;
}

}  // namespace tracker::internal
