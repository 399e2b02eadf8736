// SPDX-License-Identifier: MIT
// The folders of one test (sandbox_folders.h), and the short ways to open a run in them and to read one back.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/place.h"
#include "query/view/run_view.h"
#include "storage/recovery/recovery.h"
#include "storage/store/store.h"
#include "support/sandbox_folders.h"
#include "tracker/tracker.h"

namespace tracker::internal {

// Opens a quiet run; nullptr and a failure when it cannot.
inline trk_run* open_run(const char* id = nullptr, const char* on_full = nullptr, const char* journal = nullptr,
                         const char* resume = nullptr) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "p";
  options.id = id;
  options.on_full = on_full;
  options.journal = journal;
  options.resume = resume;
  options.quiet = 1;
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  if (trk_init(&options, &run, &error) != TRK_OK) std::fprintf(stderr, "trk_init: %s\n", error.message);
  return run;
}

inline trk_status status_of(trk_run* run) {
  trk_status status = TRK_STATUS_INIT;
  (void)trk_get_status(run, &status);
  return status;
}

// What a dead run left, after recovery. `problems` has the problems of recovery and reading.
struct ReadRun {
  std::unique_ptr<RunView> view;
  std::vector<std::string> problems;
  size_t runs = 0;
};

inline ReadRun recover_and_read(const std::string& store_path, const std::string& id = "") {
  ReadRun out;
  auto store = Store::open(store_path);
  if (!store.ok()) {
    out.problems.push_back(store.status().to_string());
    return out;
  }
  out.problems = recover_dead_writers(*store).problems;
  for (const RunFolder& folder : store->list_runs()) {
    ++out.runs;
    if (out.view != nullptr || (!id.empty() && folder.identity.id != id)) continue;
    auto view = RunView::open(folder);
    if (!view.ok()) {
      out.problems.push_back(view.status().to_string());
      continue;
    }
    out.view = std::move(*view);
    for (const std::string& problem : out.view->problems()) out.problems.push_back(problem);
  }
  return out;
}

inline History rows_of(ReadRun& run, const std::string& metric) {
  if (run.view == nullptr) return {};
  auto history = run.view->history(metric, true);
  if (history.ok()) return std::move(*history);
  if (history.status().code() != Code::kNotFound) run.problems.push_back(history.status().to_string());
  return {};
}

}  // namespace tracker::internal
