// SPDX-License-Identifier: MIT
#include "run/awaited_run.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/liveness.h"
#include "run/services/stop.h"
#include "run/shared_run.h"
#include "storage/recovery/live_writers.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// The newest sign of life of rank 0, which has made the run.
int64_t sign_of_life(const std::string& run_path) {
  int64_t newest = 0;
  for (const std::string& path : RunFolder{RunIdentity{}, run_path}.writer_dbs()) {
    auto reader = WriterReader::open(path);
    if (!reader.ok() || (*reader)->identity().rank != 0) continue;
    const auto snapshot = (*reader)->snapshot();
    if (snapshot.ok()) newest = std::max(newest, snapshot->heartbeat_us);
  }
  return newest;
}

}  // namespace

int64_t process_began_us() {
  timespec up{};
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (::clock_gettime(CLOCK_BOOTTIME, &up) != 0 || ticks <= 0) return realtime_us();
  const int64_t up_us = int64_t{up.tv_sec} * 1'000'000 + up.tv_nsec / 1000;
  return realtime_us() - up_us + this_process().pid_start * (1'000'000 / ticks);
}

std::string loopback_place() {
  const std::string boot = this_process().boot_id;
  struct stat st{};
  if (boot.empty() || ::stat("/proc/self/ns/net", &st) != 0) return "";
  return fmt::format("{}/{}", boot, st.st_ino);
}

std::string AwaitedRun::text_of(const JoinedRun& run) {
  return fmt::format("{} {} {} {}", run.run.uid.hex(), run.attempt, run.run.created_us, run.run.id);
}

Status AwaitedRun::tell(std::string_view text) {
  const Status wrong(Code::kInvalid, fmt::format("'{}' names no run", text.substr(0, 100)));
  JoinedRun joined;
  joined.run.project = claim_.project;
  const auto next = [&text] {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
  };
  const auto number = [&next](int64_t* out) {
    const std::string_view word = next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *out);
    return error == std::errc() && end == word.data() + word.size();
  };
  const auto uid = Id128::from_hex(next());
  if (!uid || uid->is_zero() || !number(&joined.attempt) || !number(&joined.run.created_us) || text.empty())
    return wrong;
  if (joined.attempt < 1 || joined.attempt > kAttemptMax || joined.run.created_us < 0) return wrong;
  joined.run.uid = *uid;
  joined.run.id = text;
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!told_) told_ = std::move(joined);
  return {};
}

std::optional<JoinedRun> AwaitedRun::look(const Store& store) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (told_) return keep(store, *told_);
  }
  if (claim_.launch.empty()) return std::nullopt;
  std::optional<JoinedRun> out;
  for (const Candidate& each : candidates(store)) {
    if (!is_live(each) || out) continue;  // of all of them the first sign is kept
    if (const auto attempt = attempt_in(store, each)) out = JoinedRun{each.run, *attempt};
  }
  looked_ = true;
  return out ? std::optional(keep(store, std::move(*out))) : std::nullopt;
}

JoinedRun AwaitedRun::keep(const Store& store, JoinedRun joined) {
  if (found() == nullptr) {
    kept_ = {std::move(joined), "", ""};
    kept_.uid = kept_.joined.run.uid.hex();
    kept_.path = store.run_path(kept_.joined.run.project, kept_.joined.run.id);
    found_.store(&kept_, std::memory_order_release);
  }
  return kept_.joined;
}

// Newest first.
std::vector<AwaitedRun::Candidate> AwaitedRun::candidates(const Store& store) const {
  constexpr int64_t kAgeUs = std::chrono::microseconds(kClaimAgeMax).count();
  std::vector<Candidate> out;
  const std::string project = join_path(join_path(store.path(), kRunsFolder), folder_name(claim_.project));
  for (const std::string& path : newest_run_folders(project)) {
    const auto run = read_run_document(join_path(path, kRunFile));
    if (!run.ok() || std::abs(run->created_us - claim_.began_us) > kAgeUs) continue;
    const auto claims = attempt_claims(path);
    if (claims.empty() || claims.front().attempt != 1 || claims.front().launch != claim_.launch) continue;
    out.push_back({*run, path});
  }
  std::sort(out.begin(), out.end(),
            [](const Candidate& a, const Candidate& b) { return a.run.created_us > b.run.created_us; });
  return out;
}

// Whether rank 0 is there, or was when this process was: its process is seen on this machine; it has begun behind this
// process, by the clock of both or as this process has seen it; or it gives a sign of life while this process looks.
// The run of a job before this one does none of that.
bool AwaitedRun::is_live(const Candidate& run) {
  const bool began_behind = run.run.created_us >= claim_.began_us;
  const auto maker = read_claim_maker(join_path(run.path, kRunFile));
  const Liveness process = maker ? in_process_table(*maker) : Liveness::kUnknown;
  if (process == Liveness::kLive) return true;
  if (began_behind && maker && !maker->boot_id.empty() && maker->boot_id == this_process().boot_id) return true;
  if (process == Liveness::kDead) return false;
  const int64_t sign = sign_of_life(run.path);
  const auto [first, is_new] = first_signs_.emplace(run.run.uid, sign);
  if (is_new) return looked_ && began_behind;
  return first->second > 0 ? sign > first->second : (first->second = sign, false);
}

// The attempt that a rank of this launch belongs to; none where the newest one is not of it, or has this rank already.
std::optional<int64_t> AwaitedRun::attempt_in(const Store& store, const Candidate& run) const {
  TakenAttempts taken{writers_of({run.run, run.path}), attempt_claims(run.path)};
  for (WriterIdentity& writer : journal_writers_of(store, run.run.uid)) taken.writers.push_back(std::move(writer));
  const int64_t attempt = attempt_to_join(taken, {claim_.rank, claim_.world_size, claim_.launch, 0});
  return attempt <= taken.newest() ? std::optional(attempt) : std::nullopt;
}

}  // namespace tracker::internal
