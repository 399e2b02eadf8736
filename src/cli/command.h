// SPDX-License-Identifier: MIT
// The commands: what the command line asks of each, and what they share. One file a command. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/console.h"
#include "exchange/export.h"
#include "query/run_view.h"
#include "storage/recovery.h"
#include "storage/store.h"

namespace tracker::internal {

// Documented in docs/cli.md: do not change the numbers.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,   // not found, not readable, not writable
  kExitUsage = 2,    // the command line itself is wrong
  kExitDamaged = 3,  // damaged data was found and named; the rest was shown
  kExitVersion = 4,  // the store, or a part of it, was written by a newer version
};

struct GlobalOptions {
  std::string dir;  // --dir; empty: TRACKER_DIR and so on
};

struct LsOptions {
  std::string project;
  std::string where, sort, columns;  // docs/filter.md
  uint64_t limit = 50;               // 0: all
  uint64_t offset = 0;
  bool json = false;
};

struct ShowOptions {
  std::string run;
  uint64_t plots = 0;  // charts of real height for the first so many metrics
  bool json = false;
};

struct ExportCommandOptions {
  std::string run;
  std::string output;  // empty or "-": stdout
  ExportOptions form;
  bool json = false;
};

int run_ls(Console& console, const GlobalOptions& global, const LsOptions& options);
int run_show(Console& console, const GlobalOptions& global, const ShowOptions& options);
int run_export(Console& console, const GlobalOptions& global, const ExportCommandOptions& options);
int run_version(Console& console, bool json);

// One command line without the program's name.
int run_command_line(Console& console, const std::vector<std::string>& arguments);

// Opens the store and recovers its dead writers, saying on stderr in one line what was recovered.
Result<Store> open_store(Console& console, const GlobalOptions& global);
// That line, without "tracker: "; empty when nothing was recovered.
std::string recovery_text(const RecoveryReport& report);
Result<std::unique_ptr<RunView>> open_run(const Store& store, const std::string& name);

// Says what went wrong on stderr and returns the exit code for it.
int fail(Console& console, const Status& status);
// The exit code of a command that has shown what could be read: names the problems on stderr.
int finish(Console& console, const std::vector<std::string>& problems, Code worst);

}  // namespace tracker::internal
