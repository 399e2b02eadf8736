// SPDX-License-Identifier: MIT
// tracker sync: sends runs to the server. It writes into no run, so it may be called at any time and again.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "cli/commands/command.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "query/runs/find_run.h"
#include "sync/run_sync.h"
#include "sync/runs_at_rest.h"
#include "transport/known_server.h"

namespace tracker::internal {
namespace {

struct SyncedRun {
  RunFolder run;
  SyncCounts counts;
  bool complete = false;  // all that is durable now is on the server
  uint64_t writers_unfinished = 0;
  std::vector<std::string> problems;
};

// Of a run that is at rest and of mode local `known` says so: then it is not opened again.
bool is_local(const Store& store, const RunFolder& run, RunsAtRest* known) {
  if (const RunAtRest* at_rest = known->find(run)) return at_rest->server.empty();
  auto at_rest = look_at_rest(store.path(), run);
  bool ended = false;
  if (mode_of_run(run, &ended) != "local") return false;
  if (ended && at_rest) known->put(run, std::move(*at_rest));
  return true;
}

// Those named; without names those that init(mode="offline") or "online" recorded.
Result<std::vector<RunFolder>> chosen_runs(Console& console, const Store& store, const SyncOptions& options,
                                           RunsAtRest* at_rest) {
  std::vector<RunFolder> out;
  for (const std::string& name : options.runs) {
    auto run = find_run(store, name, RunNames::kOfRuns);
    if (!run.ok()) return run.status();
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const RunFolder& each) { return each.path == run->path; });
    if (!known) out.push_back(std::move(*run));
  }
  if (!options.runs.empty()) return out;
  std::vector<Status> damaged;
  std::vector<RunFolder> all = store.list_runs("", &damaged);
  for (const Status& status : damaged) console.note(status.to_string());
  std::set<std::string> there;
  ProgressBar bar(console, "searching for runs to send");
  for (size_t i = 0; i < all.size(); ++i) {
    bar.show(i, all.size());
    there.insert(all[i].path);
    if (!is_local(store, all[i], at_rest)) out.push_back(std::move(all[i]));
  }
  bar.clear();
  at_rest->forget_others(there);
  std::reverse(out.begin(), out.end());  // the oldest first
  return out;
}

std::string counts_text(const SyncCounts& counts) {
  return fmt::format("{}, {}, {}", counted(counts.points_sent, "point"), counted(counts.files_sent, "file"),
                     bytes_text(counts.bytes_sent));
}

// What is being sent, on a terminal, redrawn ten times a second after the first one.
class SendingLine {
 public:
  SendingLine(Console& console, const RunSync& sync, std::string name)
      : console_(console), sync_(sync), name_(std::move(name)), begun_ns_(monotonic_ns()) {}
  ~SendingLine() {
    if (drawn_ns_ != 0) console_.write_err("\r\033[K");
  }
  void show() {
    const int64_t now = monotonic_ns();
    if (!console_.progress || now - begun_ns_ < console_.progress_after_ns || now - drawn_ns_ < kProgressRedrawNs)
      return;
    drawn_ns_ = now;
    console_.write_err(fmt::format("\r\033[Ksending {}: {}", visible(name_), counts_text(sync_.counts())));
  }

 private:
  Console& console_;
  const RunSync& sync_;
  const std::string name_;
  const int64_t begun_ns_;
  int64_t drawn_ns_ = 0;
};

// `bare`: of a run that has not changed since all of it was on this server only the numbers are compared.
ServerAnswer send_run(Console& console, const Store& store, ServerLink* server, RunsAtRest* known, bool bare,
                      SyncedRun* out) {
  RunSync sync(server, store.path(), out->run);
  ServerAnswer answer;
  if (const RunAtRest* at_rest = bare ? known->find(out->run) : nullptr;
      at_rest != nullptr && at_rest->server == server->store() && sync.holds(at_rest->acked, &answer)) {
    out->complete = true;
    return answer;
  }
  const auto before = look_at_rest(store.path(), out->run);
  SendingLine line(console, sync, run_text(out->run));
  const std::function<bool()> go_on = [&line] {
    line.show();
    return true;
  };
  server->set_go_on(go_on);
  answer = sync_all(&sync, server, go_on);
  server->set_go_on([] { return true; });
  out->counts = sync.counts();
  out->problems = sync.problems();
  out->complete = answer.ok() && out->problems.empty();
  out->writers_unfinished = sync.writers_unfinished();
  if (!bare || !out->complete || out->writers_unfinished > 0 || !before) return answer;
  auto after = look_at_rest(store.path(), out->run, sync.artifacts());
  if (!after ||
      !std::includes(after->folders.begin(), after->folders.end(), before->folders.begin(), before->folders.end()))
    return answer;
  after->server = server->store();
  after->acked = sync.acked();
  known->put(out->run, std::move(*after));
  return answer;
}

void print_run(Console& console, const SyncedRun& each) {
  const std::string name = visible(run_text(each.run));
  if (each.counts.bytes_sent == 0)
    console.print(name + (each.complete ? ": nothing to send\n" : ": nothing was sent\n"));
  else console.print(fmt::format("{}: sent {}\n", name, counts_text(each.counts)));
  if (each.complete && each.writers_unfinished > 0)
    console.print(fmt::format("{} goes on; a later sync sends what comes\n", name));
}

Value run_json(const SyncedRun& each) {
  Value::List problems;
  for (const std::string& problem : each.problems) problems.emplace_back(problem);
  return Value::Map{{"project", each.run.identity.project},
                    {"id", each.run.identity.id},
                    {"uid", each.run.identity.uid.hex()},
                    {"complete", each.complete},
                    {"writers_unfinished", static_cast<int64_t>(each.writers_unfinished)},
                    {"points_sent", static_cast<int64_t>(each.counts.points_sent)},
                    {"files_sent", static_cast<int64_t>(each.counts.files_sent)},
                    {"bytes_sent", static_cast<int64_t>(each.counts.bytes_sent)},
                    {"problems", std::move(problems)}};
}

void print(Console& console, const Store& store, const ServerLink& server, const std::vector<SyncedRun>& runs,
           const SyncCounts& sum, const std::string& problem, bool json) {
  if (json) {
    Value::List list;
    for (const SyncedRun& each : runs) list.push_back(run_json(each));
    console.print(visible_json(to_json(Value::Map{{"store", store.path()},
                                                  {"server", server.url()},
                                                  {"problem", problem.empty() ? Value() : Value(problem)},
                                                  {"runs", std::move(list)},
                                                  {"points_sent", static_cast<int64_t>(sum.points_sent)},
                                                  {"files_sent", static_cast<int64_t>(sum.files_sent)},
                                                  {"bytes_sent", static_cast<int64_t>(sum.bytes_sent)}},
                                       2)) +
                  "\n");
    return;
  }
  for (const SyncedRun& each : runs) print_run(console, each);
  if (runs.empty()) console.print("No runs of mode online or offline here; tracker sync RUN sends any other.\n");
  else if (runs.size() > 1)
    console.print(fmt::format("sent {} of {}\n", counts_text(sum), counted(runs.size(), "run")));
}

}  // namespace

int run_sync(Console& console, const GlobalOptions& global, const SyncOptions& options) {
  for (const std::string& name : options.runs)
    if (const Status status = refuse_run_path(name, "sync sends"); !status.ok()) return fail(console, status);
  auto known = known_server("", "");
  if (!known.ok()) return fail(console, known.status());
  if (known->url.empty())
    return fail(console, Status(Code::kNotFound, "no server is known",
                                "set TRACKER_HOST and TRACKER_TOKEN, or run `tracker login HOST` once; nothing was "
                                "sent and nothing is lost"));
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  RunsAtRest at_rest = RunsAtRest::read(store->path());
  const auto chosen = chosen_runs(console, *store, options, &at_rest);
  if (!chosen.ok()) return fail(console, chosen.status());
  ServerLink server(std::move(*known));
  std::vector<SyncedRun> runs;
  SyncCounts sum;
  ServerAnswer answer = chosen->empty() ? ServerAnswer() : server.greet();  // a person waits: said at once
  for (const RunFolder& run : *chosen) {
    SyncedRun each{run, {}, false, 0, {}};
    if (answer.ok()) {
      answer = send_run(console, *store, &server, &at_rest, options.runs.empty(), &each);
      sum.points_sent += each.counts.points_sent;
      sum.files_sent += each.counts.files_sent;
      sum.bytes_sent += each.counts.bytes_sent;
    }
    runs.push_back(std::move(each));
  }
  at_rest.save();
  const std::string failure = answer.ok() ? "" : upload_problem(server, answer);
  if (!failure.empty()) console.note(failure);
  print(console, *store, server, runs, sum, failure, options.json);
  bool complete = answer.ok();
  for (const SyncedRun& each : runs) {
    for (const std::string& problem : each.problems) console.note(problem);
    complete = complete && each.complete;
  }
  const int code = finish(console, {}, Code::kOk);
  return code == kExitOk && !complete ? kExitFailed : code;
}

}  // namespace tracker::internal
