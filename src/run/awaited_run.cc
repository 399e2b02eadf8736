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
#include "journal/ring/liveness.h"
#include "model/key.h"
#include "run/services/stop.h"
#include "run/shared_run.h"
#include "storage/recovery/live_writers.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// Where an attempt is claimed, and when it was.
std::string claim_file_of(const std::string& run_path, int64_t attempt) {
  return join_path(run_path, attempt == 1 ? kRunFile : attempt_file(attempt));
}
int64_t claimed_us(const RunIdentity& run, const std::string& file, int64_t attempt) {
  struct stat st{};
  if (attempt == 1 || ::stat(file.c_str(), &st) != 0) return run.created_us;
  return int64_t{st.st_mtim.tv_sec} * 1'000'000 + st.st_mtim.tv_nsec / 1000;
}

// The newest sign of life of rank 0 in that attempt.
int64_t sign_of_life(const std::string& run_path, int64_t attempt) {
  int64_t newest = 0;
  for (const std::string& path : RunFolder{RunIdentity{}, run_path}.writer_dbs()) {
    auto reader = WriterReader::open(path);
    if (!reader.ok() || (*reader)->identity().rank != 0 || (*reader)->identity().attempt != attempt) continue;
    const auto snapshot = (*reader)->snapshot();
    if (snapshot.ok()) newest = std::max(newest, snapshot->heartbeat_us);
  }
  return newest;
}

// The newest attempt, where it has this claim.
std::optional<int64_t> attempt_with(const std::string& run_path, const std::string& launch) {
  const auto claims = attempt_claims(run_path);
  return !claims.empty() && claims.back().launch == launch ? std::optional(claims.back().attempt) : std::nullopt;
}

}  // namespace

int64_t process_began_us() {
  timespec up{};
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (::clock_gettime(CLOCK_BOOTTIME, &up) != 0 || ticks <= 0) return realtime_us();
  const int64_t up_us = int64_t{up.tv_sec} * 1'000'000 + up.tv_nsec / 1000;
  // The end of the tick in which it began: a run that a killed rank 0 made just before is none that began after it.
  return realtime_us() - up_us + (this_process().pid_start + 1) * (1'000'000 / ticks);
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
    if (has_place(store, each)) out = JoinedRun{each.run, each.attempt};
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
    const auto attempt = attempt_with(path, claim_.launch);
    const auto run = attempt ? read_run_document(join_path(path, kRunFile)) : Result<RunIdentity>(Status());
    if (!run.ok()) continue;
    const std::string file = claim_file_of(path, *attempt);
    const int64_t began_us = claimed_us(*run, file, *attempt);
    if (std::abs(began_us - claim_.began_us) <= kAgeUs) out.push_back({*run, path, file, *attempt, began_us});
  }
  std::sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) { return a.began_us > b.began_us; });
  return out;
}

// Whether rank 0 is there, or was when this process was: its process is seen on this machine; it has begun after this
// process, by the clock of both or as this process has seen it; or it gives a sign of life while this process looks.
// The run of a job before this one does none of that.
bool AwaitedRun::is_live(const Candidate& run) {
  const bool began_after = run.began_us >= claim_.began_us;
  const auto maker = read_claim_maker(run.claim_file);
  const Liveness process = maker ? in_process_table(*maker) : Liveness::kUnknown;
  if (process == Liveness::kLive) return true;
  if (began_after && maker && !maker->boot_id.empty() && maker->boot_id == this_process().boot_id) return true;
  if (process == Liveness::kDead) return false;
  const int64_t sign = sign_of_life(run.path, run.attempt);
  const auto [first, is_new] = first_signs_.emplace(std::pair(run.run.uid, run.attempt), sign);
  if (is_new) return looked_ && began_after;
  return first->second > 0 ? sign > first->second : (first->second = sign, false);
}

// Of what may have had this rank before, an earlier start of this very process say.
bool AwaitedRun::has_place(const Store& store, const Candidate& run) const {
  TakenAttempts taken{writers_of({run.run, run.path}), attempt_claims(run.path)};
  for (WriterIdentity& writer : journal_writers_of(store, run.run.uid)) taken.writers.push_back(std::move(writer));
  return attempt_to_join(taken, {claim_.rank, claim_.world_size, claim_.launch, 0}) == run.attempt;
}

std::optional<RunFolder> run_of_claim(const Store& store, const std::string& project, const std::string& launch) {
  std::optional<RunFolder> newest;
  for (const std::string& path :
       newest_run_folders(join_path(join_path(store.path(), kRunsFolder), folder_name(project)))) {
    const auto attempt = attempt_with(path, launch);
    auto run = attempt ? read_run_document(join_path(path, kRunFile)) : Result<RunIdentity>(Status());
    if (!run.ok() || (newest && newest->identity.created_us > run->created_us)) continue;
    const auto maker = read_claim_maker(claim_file_of(path, *attempt));
    if (maker && in_process_table(*maker) == Liveness::kLive) continue;
    newest = RunFolder{std::move(*run), path};
  }
  return newest;
}

}  // namespace tracker::internal
