// SPDX-License-Identifier: MIT
// The commands: what the command line asks of each, and what they share. One file a command. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cli/output/console.h"
#include "exchange/export.h"
#include "exchange/import_source.h"
#include "model/filter/filter.h"
#include "query/view/run_view.h"
#include "storage/recovery/recovery.h"
#include "storage/store/store.h"

namespace tracker::internal {

// Documented in docs/cli.md: do not change the numbers.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,   // not found, not readable, not writable
  kExitUsage = 2,    // the command line itself is wrong
  kExitDamaged = 3,  // damaged data was found and named; the rest was shown
  kExitVersion = 4,  // the store, or a part of it, was written by a newer version
  // And 130 where Ctrl-C ends the program: what a shell says of SIGINT, which is left as it is.
};

// Limit: columns that a * in --columns becomes. Beyond it: the first by name are shown, and one line says so.
constexpr size_t kKeyColumnsMax = 100;

struct GlobalOptions {
  std::string dir;  // --dir; empty: TRACKER_DIR and so on
};

struct LsOptions {
  std::string project;
  std::string where, sort, columns;  // docs/filter.md
  uint64_t limit = 50;               // 0: all
  bool limit_given = false;          // else a pipe gets all
  uint64_t offset = 0;
  bool json = false;
};

struct ShowOptions {
  std::string run;
  uint64_t plots = 0;    // charts of real height for the first so many metrics
  bool losses = false;   // only the account, a line a metric
  bool console = false;  // only what the processes printed
  bool json = false;
};

struct ExportCommandOptions {
  std::string run;
  std::string output;                                              // empty or "-": stdout
  enum class To { kText, kTensorBoard, kParquet } to = To::kText;  // files of other tools go to `output`
  std::string bundle;                                              // not empty: the run whole, into this file
  bool artifacts = false;                                          // in the bundle, what the run used and made
  ExportOptions form;
  bool json = false;
};

struct InitCommandOptions {
  bool shared = false;
  std::string group;  // empty: that of the store's folder
  bool json = false;
};

struct TailOptions {
  std::string run;
  std::vector<std::string> metrics;  // empty: all
  bool follow = false;
  uint64_t rows = 10;
  bool rows_given = false;
  std::string since;
  bool texts = false, settings = false;  // beside rows of numbers
  bool json = false;
};

struct StopOptions {
  std::string run, reason;
  bool cancel = false;
  bool json = false;
};

struct SyncOptions {
  std::vector<std::string> runs;  // empty: those of mode online or offline
  bool json = false;
};

struct VerifyCommandOptions {
  std::vector<std::string> what;  // stores and runs; empty: the store
  bool deep = false;              // every byte of artifacts too
  bool json = false;
};

struct GcOptions {
  bool dry_run = false;
  uint64_t max_disk = 0;  // bytes; 0: no runs are removed
  bool unsynced = false;  // runs that no server has may go too
  bool json = false;
};

struct ArtifactOptions {
  std::string action;  // ls, show, get, put, verify, tag, alias, lineage
  std::string name;    // PROJECT/NAME:ALIAS and its parts; of ls a project, or a project and a name
  std::string path;    // of get the folder, of put what is stored
  std::string type, description;
  std::vector<std::string> aliases, tags;    // of put
  std::vector<std::string> labels, removed;  // of tag and alias
  bool deep = false;
  bool json = false;
};

struct RmOptions {
  std::vector<std::string> runs;
  std::string where;    // runs beside those named
  std::string project;  // both look there; alone all its runs
  bool yes = false;
  bool json = false;
};

struct ServerOptions {
  std::string host = "127.0.0.1", port;
  std::vector<std::string> allowed_hosts;
  enum class Token { kNone, kCreate, kList, kRevoke } token = Token::kNone;  // tracker server token …
  std::string token_name, token_project;
  std::vector<std::string> scopes;
  bool json = false;  // of token list
};

struct UiOptions {
  std::string port;
  bool no_browser = false;
  bool link = false;  // print a new one-use code for the console that runs
};

struct DoctorOptions {
  std::string recover;  // not empty: a store, which journals that name its id are recovered into
  bool json = false;
};

int run_init(Console& console, const GlobalOptions& global, const InitCommandOptions& options);
int run_tail(Console& console, const GlobalOptions& global, const TailOptions& options);
int run_stop(Console& console, const GlobalOptions& global, const StopOptions& options);
int run_login(Console& console, const std::string& host);
int run_sync(Console& console, const GlobalOptions& global, const SyncOptions& options);
int run_verify(Console& console, const GlobalOptions& global, const VerifyCommandOptions& options);
int run_gc(Console& console, const GlobalOptions& global, const GcOptions& options);
int run_rm(Console& console, const GlobalOptions& global, const RmOptions& options);
int run_artifact(Console& console, const GlobalOptions& global, const ArtifactOptions& options);
int run_doctor(Console& console, const GlobalOptions& global, const DoctorOptions& options);
int run_server(Console& console, const GlobalOptions& global, const ServerOptions& options);
int run_ui(Console& console, const GlobalOptions& global, const UiOptions& options);
int run_ls(Console& console, const GlobalOptions& global, const LsOptions& options);
int run_show(Console& console, const GlobalOptions& global, const ShowOptions& options);
int run_export(Console& console, const GlobalOptions& global, ExportCommandOptions options);
int run_import(Console& console, const GlobalOptions& global, ImportOptions options, bool json);
int run_version(Console& console, bool json);

// One command line without the program's name.
int run_command_line(Console& console, const std::vector<std::string>& arguments);

// Opens the store and recovers its dead writers, saying on stderr in one line what was recovered.
Result<Store> open_store(Console& console, const GlobalOptions& global);
// That line, without "tracker: "; empty when nothing was recovered.
std::string recovery_text(const RecoveryReport& report);
Value::List recovered_json(const RecoveryReport& report);
// RUN begins with "/", "./" or "../": it is the folder of a run, which is only read.
bool is_run_path(std::string_view name);
// Of commands that do more than read: `does` says what, such as "rm removes".
Status refuse_run_path(const std::string& name, const char* does);
// The run of that folder. Errors: as read_run_folder().
Result<RunFolder> run_at_path(const std::string& name);
// The run that RUN names, and where it is; in a folder of its own without a store.
struct NamedRun {
  std::optional<Store> store;
  RunFolder folder;
};
Result<NamedRun> find_named_run(Console& console, const GlobalOptions& global, const std::string& name);
Result<std::unique_ptr<RunView>> open_run(const NamedRun& run);

// For a document: the problems of the run, and its rows that somebody else still recovers, which open_store() has said
// on stderr.
std::vector<std::string> problems_to_show(const Console& console, const RunView& run);

// Says what went wrong on stderr and returns the exit code for it.
int fail(Console& console, const Status& status);
// A mistake in a filter, an order or columns: also points at the place in `text` on a terminal.
int fail_at(Console& console, const Status& status, std::string_view text, const FilterError& error);
// The exit code of a command that has shown what could be read: names the problems on stderr.
int finish(Console& console, const std::vector<std::string>& problems, Code worst);

}  // namespace tracker::internal
