// SPDX-License-Identifier: MIT
#include "sync/run_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "artifact/lineage.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/shell_word.h"
#include "storage/database/writer_parts.h"
#include "storage/writer/part_reader.h"
#include "sync/server_project.h"

namespace tracker::internal {
namespace {

// Limit: units and files that a report names. Beyond it: left out.
constexpr size_t kProblemsMax = 100;
constexpr int64_t kSignOfLifeUs = 15'000'000;
// Limit: requests in a row whose answer acknowledges nothing. Beyond it: the next round.
constexpr int kAsksMax = 3;

// The points that parts of this writer's files should have and do not, and the number after which they are missing.
struct MissingParts {
  uint64_t points = 0, after = 0;
};

MissingParts missing_parts(const WriterSnapshot& snapshot, const std::string& path) {
  MissingParts out;
  out.points = snapshot.missing.points + snapshot.missing.dropped;
  if (out.points == 0) return out;
  const auto parts = parts_of(path);
  if (parts.empty()) return {};
  const auto last = PartReader::open(parts.back().path);
  if (last.ok()) out.after = (*last)->identity().before.seq;
  return out;
}

}  // namespace

RunSync::RunSync(ServerLink* server, std::string store_path, RunFolder run, std::string project)
    : server_(server),
      run_(run),
      is_named_(!project.empty()),
      project_(is_named_ ? std::move(project) : upload_project(run)),
      files_(server, std::move(store_path), std::move(run), project_, &counts_, [this] { (void)send_frames(); }) {}

void RunSync::own_has_ended() {
  own_ended_ = true;
  files_due_ = true;
}

ServerAnswer RunSync::round() {
  ServerAnswer answer = server_->greet();
  if (answer.ok() && !asked_) answer = ask_acked();
  if (answer.ok()) answer = send_frames();
  const bool leaves_files = own_.files != nullptr && !own_.is_first && !own_ended_;
  return answer.ok() && files_due_ && !leaves_files ? send_files() : answer;
}

bool RunSync::holds(const std::map<std::string, uint64_t>& acked, ServerAnswer* answer) {
  *answer = server_->greet();
  if (answer->ok()) *answer = ask_acked();
  return answer->ok() &&
         std::all_of(acked.begin(), acked.end(), [&](const auto& each) { return acked_[each.first] >= each.second; });
}

ServerAnswer RunSync::send_files() {
  std::vector<LineageEdge> edges;
  {
    std::unique_lock<std::timed_mutex> lock;
    if (own_.files != nullptr) lock = std::unique_lock(*own_.files, std::try_to_lock);
    if (own_.files != nullptr && !lock) return {};
    edges = edges_of_run(run_);
  }
  for (const LineageEdge& edge : edges) artifacts_.emplace(edge.project, edge.name);
  files_due_ = false;
  sending_files_ = true;
  ServerAnswer answer = files_.send(edges, &problems_);
  sending_files_ = false;
  if (!answer.ok()) files_due_ = true;
  if (problems_.size() > kProblemsMax) problems_.resize(kProblemsMax);
  return answer;
}

ServerAnswer RunSync::ask_acked() {
  const std::string path = fmt::format("runs/{}/writers?project={}", run_.identity.uid.hex(), url_encoded(project_));
  ServerAnswer answer = server_->call("GET", path);
  if (answer.kind == AnswerKind::kNotFound) answer = ServerAnswer();
  if (!answer.ok()) return answer;
  if (const std::string there = answer.document.text_or("project", ""); !there.empty() && there != project_) {
    if (is_named_)
      return {AnswerKind::kInvalid,
              {},
              fmt::format("the run is in the project \"{}\" there, and a run stays in its project", there),
              {}};
    project_ = there;
    files_.set_project(there);
  }
  acked_.clear();
  if (const Value* writers = answer.document.find("writers"); writers != nullptr && writers->is_map())
    for (const auto& [writer, said] : *writers->as_map())
      acked_[writer] = static_cast<uint64_t>(std::max<int64_t>(0, said.int_or("acked_seq", 0)));
  for (auto& [file, state] : writers_) {
    if (!state.reader) continue;
    state.acked = state.read_after = acked_[state.reader->reader().identity().writer.hex()];
    state.is_over = false;
  }
  asked_ = true;
  return answer;
}

ServerAnswer RunSync::send_frames() {
  Status unlisted;
  const auto paths = run_.writer_dbs(&unlisted);
  if (!unlisted.ok()) return {AnswerKind::kNoAnswer, {}, unlisted.to_string(), {}};
  unfinished_ = 0;
  for (const std::string& path : paths) {
    const bool is_own = own_.durable_seq && last_name(path).starts_with(own_.writer.hex());
    if (own_.durable_seq && !is_own && (others_seen_ || !own_.is_first)) continue;
    if (ServerAnswer answer = send_writer(path, is_own); !answer.ok()) return answer;
  }
  others_seen_ = true;
  return {};
}

// The number up to which the writer's frames may be sent now.
Result<uint64_t> RunSync::up_to(WriterState* state, bool is_own, int64_t* heartbeat_us) {
  if (is_own && !own_ended_) {
    *heartbeat_us = realtime_us();
    return own_.durable_seq();
  }
  const auto snapshot = state->reader->reader().snapshot();
  if (!snapshot.ok()) return snapshot.status();
  *heartbeat_us = snapshot->heartbeat_us;
  // No process writes any more: its files are complete.
  const bool has_ended = snapshot->end.has_value() || snapshot->recovered.has_value();
  if (!has_ended) ++unfinished_;
  state->is_over = has_ended;
  if (const auto missing = missing_parts(*snapshot, state->reader->reader().path());
      missing.points > 0 && state->acked <= missing.after)
    state->lost = std::max(state->lost, missing.points);
  return has_ended ? snapshot->last_seq : snapshot->durable_seq;
}

// Nothing while the own writer is closing its files.
Result<std::optional<UnitList>> RunSync::read_units(WriterState* state, bool is_own, uint64_t up_to) {
  std::unique_lock<std::timed_mutex> lock;
  if (is_own && own_.files != nullptr) {
    lock = std::unique_lock(*own_.files, std::try_to_lock);
    if (!lock) return std::optional<UnitList>();
  }
  const ServerLimits& limits = server_->limits();
  auto list = state->reader->read(state->read_after, up_to, std::min(kSyncBatchBytes, limits.batch_bytes / 2),
                                  limits.batch_units);
  if (!list.ok()) return list.status();
  return std::optional<UnitList>(std::move(*list));
}

ServerAnswer RunSync::send_writer(const std::string& path, bool is_own) {
  WriterState& state = writers_[path];
  if (state.is_over) return {};
  std::unique_lock<std::timed_mutex> lock;
  if (is_own && own_.files != nullptr) {
    lock = std::unique_lock(*own_.files, std::try_to_lock);
    if (!lock) return {};
  }
  if (!state.reader) {
    auto reader = WriterReader::open(path);
    if (!reader.ok()) {
      if (is_own) return {};  // it is starting: another round finds it complete
      problems_.push_back(fmt::format("{}; it was not sent", reader.status().to_string()));
      state.is_over = true;
      return {};
    }
    state.acked = state.read_after = acked_[(*reader)->identity().writer.hex()];
    state.reader = std::make_unique<UnitReader>(std::move(*reader));
  }
  int64_t heartbeat_us = 0;
  const auto limit = up_to(&state, is_own, &heartbeat_us);
  const bool is_over = std::exchange(state.is_over, false);
  if (lock) lock.unlock();
  if (!limit.ok()) return {AnswerKind::kNoAnswer, {}, limit.status().to_string(), {}};
  // A writer that lives elsewhere ships itself.
  if (own_.durable_seq && !is_own && !is_over) return {};
  for (int asks = 0; state.read_after < *limit;) {
    auto list = read_units(&state, is_own, *limit);
    if (!list.ok()) return {AnswerKind::kNoAnswer, {}, list.status().to_string(), {}};
    if (!*list) return {};
    state.lost += (*list)->points_lost;
    if ((*list)->units.empty()) {
      if ((*list)->at_end) break;
      if (++asks >= kAsksMax) return {AnswerKind::kNoAnswer, {}, path + " cannot be read now", {}};
      continue;
    }
    const uint64_t before = state.read_after;
    if (ServerAnswer answer = send_units(&state, &**list, 0, (*list)->units.size(), heartbeat_us); !answer.ok())
      return answer;
    files_due_ |= (*list)->names_files && !sending_files_;
    if (state.read_after > before) asks = 0;
    else if (++asks >= kAsksMax)
      return {AnswerKind::kBusy, {}, "the server takes the points and does not count them as received", {}};
  }
  state.is_over = is_over;
  // Else a run that logs nothing for a while would look dead.
  if (is_own && !own_ended_ && heartbeat_us - state.signed_us >= kSignOfLifeUs) {
    UnitList none;
    return send_units(&state, &none, 0, 0, heartbeat_us);
  }
  return {};
}

// Sends a batch of units [first, first + count) of the list; halves it if the server accepts less, and gives up only a
// single unit that the server refuses.
ServerAnswer RunSync::send_units(WriterState* state, UnitList* list, size_t first, size_t count, int64_t heartbeat_us) {
  Batch batch;
  batch.writer = state->reader->reader().identity();
  batch.writer.run = run_.identity;
  batch.heartbeat_us = heartbeat_us;
  uint64_t prev = state->acked, points = 0;
  for (size_t i = first; i < first + count; ++i) {
    const StoredUnit& unit = list->units[i];
    prev = std::min(prev, unit.first - 1);  // of a segment that the server has in part
    const uint64_t lost = prev + 1 < unit.first ? std::exchange(state->lost, 0) : 0;
    batch.units.push_back({unit.kind, prev, unit.first, unit.last, lost, unit.bytes});
    prev = unit.last;
    points += unit.points;
  }
  uint64_t lost = 0;
  for (const BatchUnit& unit : batch.units) lost += unit.lost;
  const std::string bytes = encode_batch(batch);
  ServerAnswer answer;
  if (bytes.size() > server_->limits().batch_bytes) answer = {AnswerKind::kTooLarge, {}, "it is too large", {}};
  else answer = post(state, bytes);
  if (answer.ok()) {
    counts_.points_sent += points;
    counts_.bytes_sent += bytes.size();
    state->signed_us = heartbeat_us;
    return answer;
  }
  state->lost += lost;
  const bool is_refused = answer.kind == AnswerKind::kTooLarge || answer.kind == AnswerKind::kInvalid ||
                          answer.kind == AnswerKind::kDamaged;
  if (!is_refused || count == 0) return answer;
  if (count == 1) {
    give_up(state, list->units[first], answer);
    return {};
  }
  answer = send_units(state, list, first, count / 2, heartbeat_us);
  return answer.ok() ? send_units(state, list, first + count / 2, count - count / 2, heartbeat_us) : answer;
}

ServerAnswer RunSync::post(WriterState* state, const std::string& batch) {
  const std::string path = fmt::format("runs/{}/frames?project={}", run_.identity.uid.hex(), url_encoded(project_));
  ServerAnswer answer = server_->call("POST", path, batch, "application/vnd.tracker.batch");
  if (!answer.ok()) return answer;
  state->acked = state->read_after =
      static_cast<uint64_t>(std::max<int64_t>(0, answer.document.int_or("acked_seq", 0)));
  acked_[state->reader->reader().identity().writer.hex()] = state->acked;
  const Value* rejected = answer.document.find("rejected");
  if (rejected != nullptr && rejected->is_list())
    for (const Value& each : *rejected->as_list())
      if (each.text_or("code", "") == "differs" && problems_.size() < kProblemsMax)
        problems_.push_back(
            fmt::format("{}: the server holds other bytes than this store for frame {} of writer {}; both are kept",
                        run_.identity.id, each.int_or("first", 0), state->reader->reader().identity().writer.hex()));
  return answer;
}

// Gives it up: the next unit declares its numbers as a gap and its points as lost on the server.
void RunSync::give_up(WriterState* state, const StoredUnit& unit, const ServerAnswer& answer) {
  state->lost += unit.points;
  state->read_after = std::max(state->read_after, unit.last);
  if (problems_.size() < kProblemsMax)
    problems_.push_back(fmt::format("{}: frames {} to {} were not sent: {}; they stay in the store", run_.identity.id,
                                    unit.first, unit.last, answer.message));
}

ServerAnswer sync_all(RunSync* sync, ServerLink* server, const std::function<bool()>& go_on) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kAskEach{100};
  Clock::time_point moved = Clock::now();
  for (;;) {
    const uint64_t before = sync->counts().bytes_sent;
    ServerAnswer answer = sync->round();
    if (answer.ok() || !answer.passes()) return answer;
    if (sync->counts().bytes_sent > before) moved = Clock::now();
    if (Clock::now() - moved >= kNoProgressMax) return answer;
    const Clock::time_point again = std::min(Clock::now() + server->pause_after(answer), moved + kNoProgressMax);
    while (Clock::now() < again) {
      if (!go_on()) return {AnswerKind::kCancelled, {}, "it was ended", {}};
      std::this_thread::sleep_for(std::min<Clock::duration>(kAskEach, again - Clock::now()));
    }
  }
}

std::string upload_problem(const ServerLink& server, const ServerAnswer& answer, bool live) {
  std::string what = live ? "and sent when that is over" : "tracker sync sends the rest when that is over";
  if (answer.kind == AnswerKind::kNoAccess || answer.kind == AnswerKind::kNoScope)
    what = fmt::format("set TRACKER_TOKEN or run `tracker login {}`, then tracker sync sends the rest",
                       shell_word(server.url()));
  if (answer.kind == AnswerKind::kUnknownFormat) what = "update the older of the two, then tracker sync sends the rest";
  if (answer.kind == AnswerKind::kForeign) what = "check TRACKER_HOST; tracker sync sends the rest";
  return fmt::format("{}: {}; {}, {}", server.url(), answer.message,
                     live ? "the run is recorded locally" : "everything is stored locally", what);
}

std::string mode_of_run(const RunFolder& run, bool* ended) {
  Status unlisted;
  std::string out = "local";
  *ended = true;
  for (const std::string& path : run.writer_dbs(&unlisted)) {
    auto reader = WriterReader::open(path);
    const auto snapshot = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    *ended = *ended && snapshot.ok() && (snapshot->end.has_value() || snapshot->recovered.has_value());
    if (!snapshot.ok()) continue;
    for (const Attribute& attribute : snapshot->attributes)
      if (attribute.type == EventType::kAttribute && attribute.key == kModeKey)
        if (const std::string* mode = attribute.value.as_text()) out = *mode;
  }
  *ended = *ended && unlisted.ok();
  return out;
}

}  // namespace tracker::internal
