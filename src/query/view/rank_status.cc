// SPDX-License-Identifier: MIT
#include "query/view/rank_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "query/view/environment.h"
#include "query/view/run_state.h"

namespace tracker::internal {
namespace {

void add_writer(const WriterSnapshot& writer, RankStatus* out) {
  const OwnPoints own = own_points(writer);
  out->points += own.stored;
  out->dropped += own.dropped;
  out->last_seen_us = std::max(out->last_seen_us, last_seen_us(writer));
  for (const SeriesStats& series : writer.series) {
    if (is_system_series(series.def.name)) continue;  // the machine is no sign of what the rank does
    if (series.points == 0 || series.time_last_us < out->last_logged_us) continue;
    const bool same_moment = series.time_last_us == out->last_logged_us;
    out->last_logged_us = series.time_last_us;
    if (series.has_steps && !(same_moment && out->last_step && *out->last_step > series.last_step))
      out->last_step = series.last_step;
  }
}

const RankStatus* furthest_ahead(const std::vector<RankStatus>& ranks, int64_t attempt) {
  const RankStatus* ahead = nullptr;
  for (const RankStatus& rank : ranks)
    if (rank.attempt == attempt && rank.last_step && (ahead == nullptr || *rank.last_step > *ahead->last_step))
      ahead = &rank;
  return ahead;
}

int64_t newest_attempt(const std::vector<RankStatus>& ranks) {
  int64_t newest = 0;
  for (const RankStatus& rank : ranks) newest = std::max(newest, rank.attempt);
  return newest;
}

}  // namespace

std::string writer_state_text(const WriterSnapshot& writer, Liveness liveness, int64_t now_us) {
  if (const WriterEnd* end = writer.known_end()) return run_state_name(end->state);
  const char* dead = run_state_name(preempted(writer) != nullptr ? RunState::kPreempted : RunState::kCrashed);
  if (writer.recovered) return dead;
  switch (liveness) {
    case Liveness::kLive: return "running";
    case Liveness::kDead: return dead;
    case Liveness::kUnknown:
      return run_state_name(seen_lately(writer, now_us) ? RunState::kRunning : RunState::kLostContact);
  }
  return "unknown";
}

std::vector<RankStatus> ranks_of(const std::vector<WriterSnapshot>& writers, const std::vector<Liveness>& liveness,
                                 int64_t now_us) {
  std::map<int64_t, RankStatus> by_rank;
  for (size_t i = 0; i < writers.size(); ++i) {
    const WriterIdentity& id = writers[i].identity;
    const auto [at, is_new] = by_rank.try_emplace(id.rank);
    RankStatus& rank = at->second;
    if (!is_new && rank.attempt > id.attempt) continue;
    if (is_new || rank.attempt < id.attempt) {  // of several writers the first one speaks for the rank
      rank = RankStatus();
      rank.rank = id.rank;
      rank.attempt = id.attempt;
      rank.world_size = id.world_size;
      rank.observed = id.observed;
      rank.state = writer_state_text(writers[i], liveness[i], now_us);
      rank.host = id.host;
      rank.pid = id.pid;
    }
    add_writer(writers[i], &rank);
  }
  std::vector<RankStatus> out;
  for (auto& [number, rank] : by_rank) out.push_back(std::move(rank));
  return out;
}

const RankStatus* furthest_behind(const std::vector<RankStatus>& ranks) {
  const int64_t attempt = newest_attempt(ranks);
  const RankStatus* ahead = furthest_ahead(ranks, attempt);
  const RankStatus* slowest = nullptr;
  for (const RankStatus& rank : ranks)
    if (rank.attempt == attempt && rank.last_step && (slowest == nullptr || *rank.last_step < *slowest->last_step))
      slowest = &rank;
  return slowest != nullptr && *slowest->last_step < *ahead->last_step ? slowest : nullptr;
}

std::string behind_text(const std::vector<RankStatus>& ranks) {
  const RankStatus* slowest = furthest_behind(ranks);
  if (slowest == nullptr) return "";
  const RankStatus* ahead = furthest_ahead(ranks, newest_attempt(ranks));
  const uint64_t distance = static_cast<uint64_t>(*ahead->last_step) - static_cast<uint64_t>(*slowest->last_step);
  return fmt::format("rank {} last logged step {}, {} behind rank {}", slowest->rank, *slowest->last_step, distance,
                     ahead->rank);
}

}  // namespace tracker::internal
