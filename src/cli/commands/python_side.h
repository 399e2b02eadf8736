// SPDX-License-Identifier: MIT
// What the Python package does for the command line where that was started by it: formats that need Python, and the
// HTTP server. The native program has none of it and says how to get it. Threads: the one of the command.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exchange/export.h"
#include "exchange/import_source.h"

namespace tracker::internal {

// What `tracker server` and `tracker ui` serve.
struct ServeOptions {
  std::string store;  // its folder, which is there
  std::string host;
  uint16_t port = 0;  // 0: any that is free
  bool takes_uploads = false;
  bool opens_browser = false;
  std::vector<std::string> allowed_hosts;  // names in the header Host, beside its own
};

struct PythonSide {
  // One of is_python_format(). What is wrong with the source is a problem of the store's report or the Status.
  std::function<Status(ImportStore* store, const ImportOptions& options, const ImportProgress& progress)> import_source;
  // Writes a run as Parquet; the answer is its rows.
  std::function<Result<ExportResult>(const std::string& run_folder, const ExportOptions& options,
                                     const std::string& output)>
      export_parquet;
  // Serves until SIGTERM or Ctrl-C. kUnsupported: the packages of the extra are missing.
  std::function<Status(const ServeOptions& options)> serve;
};

}  // namespace tracker::internal
