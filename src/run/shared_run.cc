// SPDX-License-Identifier: MIT
#include "run/shared_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "base/fs.h"
#include "model/records.h"
#include "run/awaited_run.h"
#include "storage/recovery/recovery.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// The process that started all ranks of a node: boot id, pid and start time name it for as long as the machine runs.
std::string launcher_of_this_process() {
  const WriterIdentity self = this_process();
  const pid_t parent = ::getppid();
  auto stat = read_file(fmt::format("/proc/{}/stat", parent), 4096);
  if (!stat.ok() || self.boot_id.empty()) return "";
  return fmt::format("{}/{}/{}", self.boot_id, parent, pid_start_of(*stat));
}

std::string label_of(const Id128& uid) { return "run-" + uid.hex().substr(0, 12); }

// Whether the newest attempt of the run is one of this launch in which this rank has not been seen.
bool may_join(const Store& store, const RunFolder& run, const JoinRequest& request) {
  // A rank of an earlier launch may have died before its database.
  const RecoveryReport report = recover_dead_writers(store, run.identity.uid);
  TakenAttempts taken{writers_of(run), attempt_claims(run.path)};
  taken.writers.insert(taken.writers.end(), report.living.begin(), report.living.end());
  return attempt_to_join(taken, {request.rank, request.world_size, request.launch, 0}) <=
         std::max<int64_t>(taken.newest(), 1);
}

}  // namespace

LaunchFacts facts_of_launch(const GetEnv& env) {
  static std::atomic<int> inits{0};
  LaunchFacts facts;
  facts.ordinal = ++inits;
  facts.restarts = restart_count(env);
  facts.key = launch_key(env, launcher_of_this_process());
  if (facts.key) facts.text = Id128::hash_of(fmt::format("{}/{}", *facts.key, facts.ordinal)).hex().substr(0, 16);
  return facts;
}

std::string claim_text(const GetEnv& env, const RankInfo& rank, int ordinal) {
  const auto claim = launch_claim(env, rank, loopback_place());
  return claim ? Id128::hash_of(fmt::format("{}/{}", *claim, ordinal)).hex().substr(0, 16) : "";
}

int64_t TakenAttempts::newest() const {
  int64_t newest = 0;
  for (const WriterIdentity& writer : writers) newest = std::max(newest, std::min(writer.attempt, kAttemptMax));
  for (const AttemptClaim& claim : claims) newest = std::max(newest, claim.attempt);
  return newest;
}

int64_t attempt_to_join(const TakenAttempts& taken, const JoinRequest& request) {
  const int64_t newest = taken.newest();
  const auto other_size = [&request](int64_t size) {
    return request.world_size != 0 && size != 0 && size != request.world_size;
  };
  // A process that resumes at a step joins no attempt that did not: its own rows would be shadowed there.
  const auto other_past = [&request](const std::optional<int64_t>& step) {
    return request.resume_step && step != request.resume_step;
  };
  // What an attempt takes back is said by who has begun it, so a rank without a step that joined it does not count.
  const bool claimed = std::any_of(taken.claims.begin(), taken.claims.end(),
                                   [newest](const AttemptClaim& c) { return c.attempt == newest; });
  const bool no_writer_against = std::none_of(taken.writers.begin(), taken.writers.end(), [&](const WriterIdentity& w) {
    return w.attempt == newest && (w.rank == request.rank || w.launch != request.launch || other_size(w.world_size) ||
                                   (!claimed && other_past(w.resume_step)));
  });
  const bool no_claim_against = std::none_of(taken.claims.begin(), taken.claims.end(), [&](const AttemptClaim& c) {
    return c.attempt == newest &&
           ((c.launch && *c.launch != request.launch) || other_size(c.world_size) || other_past(c.resume_step));
  });
  const bool joins = newest > 0 && no_writer_against && no_claim_against;
  return std::max<int64_t>(joins ? newest : newest + 1, int64_t{request.restarts} + 1);
}

int64_t take_attempt(const std::string& run_path, std::vector<WriterIdentity> writers, const JoinRequest& request,
                     bool shared, int64_t after, Status (*claim)(const std::string&, const AttemptClaim&)) {
  TakenAttempts taken{std::move(writers), {}};
  int64_t attempt = 1;
  for (int i = 0; i < kClaimTriesMax; ++i) {
    taken.claims = attempt_claims(run_path);
    const int64_t newest = taken.newest();
    attempt = shared ? attempt_to_join(taken, request) : std::max(newest, after) + 1;
    if (attempt <= std::max<int64_t>(newest, 1)) return attempt;  // that of its launch, which another rank has claimed
    if (attempt > kAttemptMax) return attempt;                    // no number is left to claim
    const Status status = claim(run_path, {attempt, request.launch, request.world_size, request.resume_step});
    if (status.code() != Code::kExists) return attempt;
  }
  return attempt;
}

std::vector<WriterIdentity> writers_of(const RunFolder& run) {
  std::vector<WriterIdentity> out;
  for (const std::string& path : run.writer_dbs()) {
    auto reader = WriterReader::open(path);
    if (reader.ok()) out.push_back((*reader)->identity());
  }
  return out;
}

Result<RunFolder> run_of_launch(Store* store, const std::string& project, const LaunchFacts& facts,
                                const JoinRequest& request, bool shared) {
  const std::string text = fmt::format("{}/{}/{}/{}", store->id().hex(), project, *facts.key, facts.ordinal);
  std::optional<RunFolder> newest;
  for (int generation = 1; generation <= request.generations_max; ++generation) {
    const Id128 uid = Id128::hash_of(fmt::format("{}/{}", text, generation));
    if (auto found = store->find_run(project, label_of(uid)); found && found->identity.uid == uid) {
      newest = std::move(found);
      continue;
    }
    if (newest && (facts.restarts > 0 || (shared && may_join(*store, *newest, request)))) return std::move(*newest);
    bool made = false;
    auto folder = store->open_or_create_run(project, label_of(uid), uid, request.launch, &made);
    if (!folder.ok() || made || shared || facts.restarts > 0) return folder;
    newest = std::move(*folder);  // another program that this launch has started at the same moment has made it
  }
  return Status(Code::kLimit, fmt::format("{} runs of one launch", request.generations_max));
}

namespace {

// The first of label, label-2, … that `takes` says yes to; one that cannot be read is passed over.
Result<RunFolder> first_of_label(Store* store, const std::string& project, const std::string& label,
                                 const JoinRequest& request,
                                 const std::function<bool(const RunFolder&, bool is_first)>& takes) {
  for (int i = 1; i <= request.generations_max; ++i) {
    const std::string name = i == 1 ? label : fmt::format("{}-{}", label, i);
    auto found = store->open_or_create_run(project, name, Id128(), request.launch);
    if (found.ok() ? takes(*found, i == 1) : !is_of_another_run(found.status())) return found;
  }
  return Status(Code::kLimit, fmt::format("{} runs are called \"{}\"", request.generations_max, label));
}

}  // namespace

Result<RunFolder> run_of_label(Store* store, const std::string& project, const std::string& label,
                               const JoinRequest& request) {
  return first_of_label(store, project, label, request,
                        [&](const RunFolder& found, bool) { return may_join(*store, found, request); });
}

Result<RunFolder> resumed_run_of_label(Store* store, const std::string& project, const std::string& label,
                                       const JoinRequest& request) {
  return first_of_label(store, project, label, request, [&](const RunFolder& found, bool is_first) {
    return is_first || may_join(*store, found, request);
  });
}

}  // namespace tracker::internal
