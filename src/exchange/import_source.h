// SPDX-License-Identifier: MIT
// Sources of other tools: which format a path is in, and the importers that need no Python. Nothing in a source is
// believed: sizes are bounded, links are not followed, and what does not verify is named and left out.
// Threads: one at a time. Cost: a look at the names below the source, then one pass over its files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/import_store.h"
#include "model/value.h"

namespace tracker::internal {

// Limit: nesting of folders of a source. Beyond it: the first is named, and the rest is imported.
constexpr int kImportDepthMax = 16;
// Limit: files of a source. Beyond it: the first is named, and the rest is imported.
constexpr size_t kImportFilesMax = 200'000;

// Puts the file of a medium below a run's folder and says what its event does: digest, ext, bytes. kLimit: no room.
using StoreMedia =
    std::function<Result<Value>(const std::string& run_dir, std::string_view bytes, std::string_view extension)>;

struct ImportOptions {
  std::string source;            // file or folder
  std::string format;            // empty: found out
  std::string project;           // empty: after the source
  StoreMedia store_media = {};   // none: media that need a file are left out
  bool no_artifacts = false;     // of MLflow: models and other files that are no media are counted, not stored
  std::string step_column = {};  // of CSV and JSON lines: its name; empty: found out
  // Of TensorBoard and CSV: what lies in sub-folders, or files, of one folder is one run; not given: what add_hparams()
  // and add_scalars() wrote in sub-folders goes into the run of the folder above.
  std::optional<bool> join = {};
};

// Bytes of the source, or of what goes into a bundle, that are done, and all of them.
using ImportProgress = std::function<void(uint64_t done, uint64_t total)>;

// The files of a source that one of the formats knows, sorted.
struct SourceFiles {
  std::vector<std::string> event_files, csv_files, jsonl_files, wandb_files;
  bool mlflow = false, trackio = false, swanlab = false;
  std::string cut;  // a line about the first that was not looked at, of more than kImportFilesMax or deeper; else empty
};

const std::vector<std::string>& import_formats();
// Formats that python/tracker/exchange reads.
bool is_python_format(std::string_view format);

// kNotFound: no such path; kIo.
Result<SourceFiles> look_for_files(const std::string& source);
// Which format. kInvalid where none or several fit; the message says what was looked for, or names them.
Result<std::string> detect_format(const std::string& source, const SourceFiles& files);

// Each folder with event files is a run. Errors: those of the store. What is wrong with a file is a problem of the
// report.
Status import_tensorboard(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                          const ImportProgress& progress);
// Each file is a run (a folder with ImportOptions.join): the long form that `tracker export` writes, or one with a
// column a metric and a column of steps.
Status import_csv(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                  const ImportProgress& progress);

// Each file is a run: what `tracker export --format jsonl` writes, exactly where it holds a whole run, or an object a
// step.
Status import_jsonl(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                    const ImportProgress& progress);

// What the paths below are called in messages and labels: relative to the source, or its last name.
std::string name_below(const std::string& source, const std::string& path);
uint64_t bytes_of(const std::vector<std::string>& files);
int64_t modified_us(const std::string& path);  // 0: not known

}  // namespace tracker::internal
