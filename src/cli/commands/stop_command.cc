// SPDX-License-Identifier: MIT
// tracker stop: asks a run to stop. No signal is sent: the run's code asks should_stop().
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/commands/command.h"
#include "cli/output/text.h"
#include "query/runs/find_run.h"
#include "query/view/run_state.h"
#include "storage/recovery/live_writers.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/stop_request.h"

namespace tracker::internal {
namespace {

std::string name_of(const RunView& run) { return run.identity().project + "/" + run.identity().id; }

// The newest one that anybody has begun: its first writer may not have stored anything yet.
int64_t newest_attempt(const RunView& run) {
  int64_t out = 1;
  for (const AttemptClaim& claim : attempt_claims(run.dir())) out = std::max(out, claim.attempt);
  for (const WriterSnapshot& writer : run.writers()) out = std::max(out, writer.identity.attempt);
  return out;
}

void print_request(Console& console, const RunView& run, const StopRequest& request, bool json) {
  if (json) {
    console.print(visible_json(to_json(Value::Map{{"project", run.identity().project},
                                                  {"id", run.identity().id},
                                                  {"uid", run.identity().uid.hex()},
                                                  {"attempt", request.attempt},
                                                  {"requested_us", request.requested_us},
                                                  {"by", request.by},
                                                  {"reason", request.reason}},
                                       2)) +
                  "\n");
    return;
  }
  console.print(fmt::format("asked {} to stop, attempt {}; it stops when its code asks run.should_stop()\n",
                            visible(name_of(run)), request.attempt));
}

int cancel(Console& console, const RunView& run, bool json) {
  if (const Status status = remove_stop_request(run.dir()); !status.ok()) {
    if (status.code() != Code::kNotFound) return fail(console, status);
    return fail(console, Status(Code::kNotFound, fmt::format("{} was not asked to stop", name_of(run))));
  }
  if (json)
    console.print(visible_json(to_json(Value::Map{{"project", run.identity().project},
                                                  {"id", run.identity().id},
                                                  {"uid", run.identity().uid.hex()},
                                                  {"cancelled", true}},
                                       2)) +
                  "\n");
  else console.print(fmt::format("took back what was asked of {}\n", visible(name_of(run))));
  return finish(console, {}, Code::kOk);
}

}  // namespace

int run_stop(Console& console, const GlobalOptions& global, const StopOptions& options) {
  if (const Status status = refuse_run_path(options.run, "stop asks"); !status.ok()) return fail(console, status);
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  const auto folder = find_run(*store, options.run, RunNames::kOfRuns);
  if (!folder.ok()) return fail(console, folder.status());
  const auto opened = RunView::open(*folder);
  if (!opened.ok()) return fail(console, opened.status());
  const RunView& run = **opened;
  if (options.cancel) return cancel(console, run, options.json);
  const RunState state = run.state();
  // One that was resumed just now may not have stored anything yet.
  const bool lives = state == RunState::kRunning || state == RunState::kLostContact ||
                     !live_writers(*store, run.identity().uid, run.dir(), realtime_us()).empty();
  if (!lives)
    return fail(console,
                Status(Code::kNotFound, fmt::format("{} is not running but {}", name_of(run), run_state_name(state)),
                       "nothing was asked"));
  if (state == RunState::kLostContact)
    console.note(fmt::format("{}: {}; it is asked all the same", name_of(run), run.state_detail()));
  const int64_t attempt = newest_attempt(run);
  // A second request without a reason keeps the reason of the first one.
  if (const auto before = read_stop_request(run.dir());
      options.reason.empty() && before.ok() && *before && (*before)->attempt == attempt && !(*before)->reason.empty()) {
    print_request(console, run, **before, options.json);
    if (!options.json) console.print(fmt::format("it was asked before: {}\n", visible((*before)->text())));
    return finish(console, run.problems(), run.problem_code());
  }
  const StopRequest request{attempt, realtime_us(), stop_requester(), options.reason};
  if (const Status status = write_stop_request(run.dir(), request); !status.ok()) return fail(console, status);
  print_request(console, run, request, options.json);
  return finish(console, run.problems(), run.problem_code());
}

}  // namespace tracker::internal
