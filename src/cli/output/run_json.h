// SPDX-License-Identifier: MIT
// Runs as JSON documents for --json (docs/cli.md lists the keys). Pure functions on an opened run. Threads: as RunView.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/value.h"
#include "query/runs/runs_query.h"
#include "query/view/alerts.h"
#include "query/view/run_view.h"
#include "storage/store/stop_request.h"

namespace tracker::internal {

Value text_list(const std::vector<std::string>& lines);
// What the tracker took from the run's processes, as they last said: sums, of memory the most of one process. Null
// where none of them said it.
Value cost_json(const RunView& run);
// What `ls` says of each run and `show` begins with.
Value run_head_json(const RunView& run);
Value run_head_json(const RunRow& run);
// Points in a journal that the run's databases lack.
Value waiting_json(const WaitingPoints& waiting);
// Everything `show` knows of the run's files; problems are the command's to add.
Value run_json(const RunView& run, const std::map<std::string, std::vector<TextRow>>& texts, const Alerts& alerts);

int64_t duration_us(const RunView& run, int64_t now_us);

}  // namespace tracker::internal
