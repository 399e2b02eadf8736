// SPDX-License-Identifier: MIT
// tracker import: runs of other tools become runs of the store.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/commands/bundle_artifacts.h"
#include "cli/commands/command.h"
#include "cli/commands/python_side.h"
#include "cli/commands/verify_media.h"
#include "cli/output/progress.h"
#include "cli/output/text.h"
#include "exchange/bundle.h"
#include "model/did_you_mean.h"
#include "model/redact/redact.h"
#include "run/services/media_folder.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

Status carry(Console& console, ImportStore* store, const ImportOptions& options, const SourceFiles& files) {
  ProgressBar bar(console, "importing " + name_below("", options.source));
  const ImportProgress progress = [&bar](uint64_t done, uint64_t total) { bar.show(done, total); };
  const TakeBundleExtras take = [&](const std::string& folder, const RunIdentity& run) {
    return take_bundled_artifacts(store->store(), folder, run, &store->report());
  };
  const Status status = options.format == "tensorboard" ? import_tensorboard(store, options, files, progress)
                        : options.format == "csv"       ? import_csv(store, options, files, progress)
                        : options.format == "jsonl"     ? import_jsonl(store, options, files, progress)
                        : options.format == "bundle"    ? import_bundle(store, options, progress, take)
                        : options.format == "run"       ? import_run_folder(store, options, progress)
                                                        : console.python->import_source(store, options, progress);
  bar.clear();
  if (options.format == "bundle" || options.format == "run")  // as they were where it was made
    for (const ImportedRun& run : store->report().runs)
      if (const RunFolder* folder = run.is_new ? store->find(run.run.uid) : nullptr)
        for (std::string& line : media_problems(folder->path))
          store->report().add_problem(Code::kCorrupt, std::move(line));
  return status;
}

void print_report(Console& console, const ImportReport& report) {
  size_t unchanged = 0;
  for (const ImportedRun& run : report.runs) {
    if (!run.changed) {
      ++unchanged;
      continue;
    }
    const std::string texts = run.texts > 0 ? ", " + counted(run.texts, "text") : "";
    const std::string media = run.media > 0 ? fmt::format(", {} media", run.media) : "";
    const std::string alerts = run.alerts > 0 ? ", " + counted(run.alerts, "alert") : "";
    const std::string artifacts = run.artifacts > 0 ? ", " + counted(run.artifacts, "artifact") : "";
    console.print(fmt::format("{}/{}  {}{}{}{}{}{}\n", visible(run.run.project), visible(run.run.id),
                              counted(run.points, "point"), texts, media, alerts, artifacts,
                              run.is_new ? "" : " added"));
  }
  if (report.runs.size() == 1 && unchanged == 1)
    console.print(fmt::format("{}/{} was there already, with nothing new\n", visible(report.runs[0].run.project),
                              visible(report.runs[0].run.id)));
  else if (unchanged > 0)
    console.print(fmt::format("{} imported before, with nothing new\n", counted(unchanged, "run")));
  for (const std::string& name : report.artifacts) console.print("artifact " + visible(name) + "\n");
  for (const auto& [kind, count] : report.left_out) console.note(fmt::format("left out: {} {}", count, kind));
}

std::string report_json(const ImportStore& store, const ImportReport& report, const ImportOptions& options) {
  Value::List runs, problems;
  for (const ImportedRun& run : report.runs)
    runs.emplace_back(Value::Map{{"project", run.run.project},
                                 {"id", run.run.id},
                                 {"uid", run.run.uid.hex()},
                                 {"source", run.source},
                                 {"new", run.is_new},
                                 {"changed", run.changed},
                                 {"points", static_cast<int64_t>(run.points)},
                                 {"texts", static_cast<int64_t>(run.texts)},
                                 {"media", static_cast<int64_t>(run.media)},
                                 {"alerts", static_cast<int64_t>(run.alerts)},
                                 {"artifacts", static_cast<int64_t>(run.artifacts)}});
  Value left_out = Value::map();
  for (const auto& [kind, count] : report.left_out) left_out.set(kind, static_cast<int64_t>(count));
  for (const std::string& line : report.problems) problems.emplace_back(line);
  return to_json(Value::Map{{"store", store.store().path()},
                            {"source", options.source},
                            {"format", options.format},
                            {"runs", runs},
                            {"artifacts", Value::List(report.artifacts.begin(), report.artifacts.end())},
                            {"left_out", left_out},
                            {"problems", problems},
                            {"problems_more", static_cast<int64_t>(report.problems_more)}},
                 2);
}

Status check_format(const Console& console, const std::string& format) {
  const auto& known = import_formats();
  if (std::find(known.begin(), known.end(), format) == known.end())
    return Status(Code::kInvalid, fmt::format("unknown format {}{}", format, did_you_mean(format, known)),
                  fmt::format("formats: {}", fmt::join(known, ", ")));
  if (is_python_format(format) && (console.python == nullptr || !console.python->import_source))
    return Status(Code::kUnsupported, fmt::format("{} is read by the Python package", format),
                  "pip install tracker-run, and its command `tracker import` does it");
  return {};
}

}  // namespace

int run_import(Console& console, const GlobalOptions& global, ImportOptions options, bool json) {
  if (options.source.empty()) return fail(console, Status(Code::kInvalid, "SOURCE is empty", "name a file or folder"));
  if (const Status status = check_no_secret("--project", options.project); !status.ok()) return fail(console, status);
  std::error_code unknown;  // the same source by another way is the same
  const auto real = std::filesystem::weakly_canonical(options.source, unknown);
  options.source = unknown ? absolute_path(options.source) : real.string();
  while (options.source.size() > 1 && options.source.back() == '/') options.source.pop_back();
  if (!options.format.empty())
    if (const Status status = check_format(console, options.format); !status.ok()) return fail(console, status);
  const auto files = look_for_files(options.source);
  if (!files.ok()) return fail(console, files.status());
  if (options.format.empty()) {
    auto found = detect_format(options.source, *files);
    if (!found.ok()) return fail(console, found.status());
    options.format = std::move(*found);
    if (const Status status = check_format(console, options.format); !status.ok()) return fail(console, status);
  }
  if (options.no_artifacts && (options.format == "bundle" || options.format == "run"))
    return fail(console, Status(Code::kInvalid, "--no-artifacts is of imports from MLflow",
                                "a bundle has artifacts where it was made with --artifacts"));
  const bool has_folders = options.format == "tensorboard" || options.format == "csv";
  const bool has_columns = options.format == "csv" || options.format == "jsonl";
  if ((options.join && !has_folders) || (!options.step_column.empty() && !has_columns))
    return fail(console, Status(Code::kInvalid,
                                fmt::format("{} is not an option of imports from {}",
                                            options.join ? "--join" : "--step", options.format),
                                "--step is of CSV and JSON lines, --join and --no-join are of CSV and TensorBoard"));
  const std::string store_path = Store::resolve(global.dir);
  // No store is made for what will not be stored.
  if (options.format == "bundle" && !path_exists(join_path(store_path, kStoreFile)))
    if (const Status status = check_bundle(options.source); !status.ok()) return fail(console, status);
  options.store_media = [](const std::string& run_dir, std::string_view bytes,
                           std::string_view extension) -> Result<Value> {
    auto file = MediaFolder(run_dir).store(bytes, extension);
    if (!file.ok()) return file.status();
    return Value(
        Value::Map{{"digest", file->digest}, {"ext", file->extension}, {"bytes", static_cast<int64_t>(file->bytes)}});
  };
  auto store = ImportStore::open(store_path);
  if (!store.ok()) return fail(console, store.status());
  ImportReport& report = (*store)->report();
  // Importers in Python check this themselves.
  if (!files->cut.empty() && !is_python_format(options.format)) report.add_problem(Code::kLimit, files->cut);
  const Status status = carry(console, store->get(), options, *files);
  if (json) console.print(visible_json(report_json(**store, report, options)) + "\n");
  else print_report(console, report);
  if (report.problems_more > 0) console.note(fmt::format("and {} more problems", report.problems_more));
  const int code = finish(console, report.problems, report.worst);
  if (!status.ok()) return fail(console, status);
  if (report.runs.empty() && code == kExitOk)
    return fail(console, Status(Code::kNotFound, fmt::format("no run was found in {}", options.source)));
  return code;
}

}  // namespace tracker::internal
