// SPDX-License-Identifier: MIT
// Sources of other tools: detects the format of a path, and has the importers that need no Python. Nothing in a source
// is trusted: sizes are bounded, links are not followed, and what does not verify is reported and omitted.
// Threads: one at a time. Cost: a listing of the files below the source, then one pass over them.
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

// Puts the file of a medium below a run's folder and returns the fields for its event: digest, ext, bytes. kLimit: no
// space.
using StoreMedia =
    std::function<Result<Value>(const std::string& run_dir, std::string_view bytes, std::string_view extension)>;

struct ImportOptions {
  std::string source;            // file or folder
  std::string format;            // empty: found out
  std::string project;           // empty: after the source
  StoreMedia store_media = {};   // none: media that need a file are omitted
  bool no_artifacts = false;     // for MLflow: models and other files that are not media are counted, not stored
  std::string step_column = {};  // for CSV and JSON lines: its name; empty: detected
  // For TensorBoard and CSV: true: the sub-folders, or files, of one folder are one run; not given: what add_hparams()
  // and add_scalars() wrote in sub-folders belongs to the run of the folder above.
  std::optional<bool> join = {};
};

// Bytes of the source, or of the files of a bundle, that are done, and the total.
using ImportProgress = std::function<void(uint64_t done, uint64_t total)>;

// The files of a source with a known format, sorted.
struct SourceFiles {
  std::vector<std::string> event_files, csv_files, jsonl_files, wandb_files;
  bool mlflow = false, trackio = false, swanlab = false;
  std::string cut;  // a line about the first file that was not read, beyond kImportFilesMax or too deep; else empty
};

const std::vector<std::string>& import_formats();
// Formats that python/tracker/exchange reads.
bool is_python_format(std::string_view format);

// kNotFound: no such path; kIo.
Result<SourceFiles> look_for_files(const std::string& source);
// Detects the format. kInvalid if none or several match; the message has what was searched for, or names them.
Result<std::string> detect_format(const std::string& source, const SourceFiles& files);

// Each folder with event files is a run. Errors: those of the store. Errors of a file are problems of the report.
Status import_tensorboard(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                          const ImportProgress& progress);
// Each file is a run (a folder with ImportOptions.join): the long form that `tracker export` writes, or one with a
// column for each metric and a column of steps.
Status import_csv(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                  const ImportProgress& progress);

// Each file is a run: the output of `tracker export --format jsonl`, exact if it has a whole run, or an object for each
// step.
Status import_jsonl(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                    const ImportProgress& progress);

// The name of a path in messages and labels: relative to the source, or the source's last name.
std::string name_below(const std::string& source, const std::string& path);
uint64_t bytes_of(const std::vector<std::string>& files);
int64_t modified_us(const std::string& path);  // 0: not known

}  // namespace tracker::internal
