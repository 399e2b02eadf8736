// SPDX-License-Identifier: MIT
// tracker export: a run as CSV or JSON lines, to stdout or to a file that appears whole.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/fs.h"
#include "cli/commands/bundle_artifacts.h"
#include "cli/commands/command.h"
#include "cli/commands/python_side.h"
#include "cli/commands/verify_media.h"
#include "cli/output/progress.h"
#include "cli/output/run_json.h"
#include "cli/output/text.h"
#include "exchange/bundle.h"
#include "exchange/export_tensorboard.h"
#include "exchange/output_file.h"
#include "query/view/alerts.h"
#include "query/view/media.h"

namespace tracker::internal {
namespace {

// Writes beside the target and renames: an export that fails leaves no half file and an old one as it was. A pipe, a
// device or a descriptor is written to directly.
Result<ExportResult> export_to_file(RunView* run, const ExportCommandOptions& options) {
  auto target = output_target(options.output);
  if (!target.ok()) return target.status();
  std::string path = options.output;
  const bool direct = !target->is_file();
  Result<Fd> file = direct ? Result<Fd>(std::move(target->opened)) : create_part(target->path, &path);
  if (!file.ok()) return file.status();
  auto result = export_run(run, options.form, [&file, &path](std::string_view piece) {
    const Status status = write_all(file->get(), piece);
    return status.ok() ? status : Status::from_errno(status.system_errno(), "cannot write", path);
  });
  if (direct) return result;
  if (result.ok() && ::rename(path.c_str(), target->path.c_str()) != 0)
    result = Status::from_errno(errno, "cannot rename the export to", options.output);
  if (!result.ok()) remove_file(path);
  return result;
}

const char* format_name(const ExportCommandOptions& options) {
  if (options.to == ExportCommandOptions::To::kTensorBoard) return "tensorboard";
  if (options.to == ExportCommandOptions::To::kParquet) return "parquet";
  return options.form.format == ExportFormat::kCsv ? "csv" : "jsonl";
}

// Files of other tools. `output` becomes the file that was written.
Result<ExportResult> export_for_others(Console& console, RunView* run, ExportCommandOptions* options) {
  if (options->to == ExportCommandOptions::To::kTensorBoard)
    return export_tensorboard(run, options->form, absolute_path(options->output), &options->output);
  if (console.python == nullptr || !console.python->export_parquet)
    return Status(Code::kUnsupported, "Parquet is written by the Python package, with pyarrow",
                  "pip install tracker-run pyarrow, and its command `tracker export` does it");
  const auto target = output_target(options->output);
  if (!target.ok()) return target.status();
  if (!target->is_file()) return not_a_file(options->output, "Parquet");
  return console.python->export_parquet(run->dir(), options->form, target->path);
}

// What a run has that rows of numbers and texts cannot hold, by kind. Of metrics that were asked for by name nothing.
Value left_out_of(RunView* run, const ExportOptions& form) {
  Value out = Value::map();
  if (!form.metrics.empty()) return out;
  uint64_t media = 0;
  if (const auto found = summarize_media(run); found.ok())
    for (const MediaSummary& each : *found) media += each.entries;
  if (media > 0) out.set("media", static_cast<int64_t>(media));
  const auto alerts = read_alerts(run, 1);
  if (alerts.ok() && alerts->total > 0) out.set("alerts", static_cast<int64_t>(alerts->total));
  return out;
}

void note_left_out(Console& console, const Value& left_out) {
  const int64_t media = left_out.int_or("media", 0), alerts = left_out.int_or("alerts", 0);
  std::string text = media == 0 ? "" : media == 1 ? "1 medium" : fmt::format("{} media", media);
  if (alerts > 0) text += (media > 0 ? ", " : "") + counted(static_cast<uint64_t>(alerts), "alert");
  if (!text.empty()) console.note(fmt::format("left out: {} (`--bundle` has all of a run)", text));
}

std::string result_json(const Console& console, const ExportCommandOptions& options, const RunView& run,
                        const ExportResult& result, const Value& left_out) {
  return to_json(Value::Map{{"output", absolute_path(options.output)},
                            {"format", format_name(options)},
                            {"rows", static_cast<int64_t>(result.rows)},
                            {"bytes", static_cast<int64_t>(result.bytes)},
                            {"metrics", text_list(result.metrics)},
                            {"left_out", left_out},
                            {"problems", text_list(problems_to_show(console, run))}},
                 2);
}

// Rows on a terminal: their line ends stay, all else is made visible. A piece ends with a whole row.
std::string visible_lines(std::string_view piece) {
  std::string out;
  for (size_t at = 0; at < piece.size();) {
    const size_t end = std::min(piece.find('\n', at), piece.size());
    out += visible(piece.substr(at, end - at));
    if (end < piece.size()) out.push_back('\n');
    at = end + 1;
  }
  return out;
}

// The rows as the list of a JSON document that is written as it comes: a piece holds whole JSON lines.
class RowsDocument {
 public:
  RowsDocument(Console& console, const RunView& run) : console_(console), run_(run) {}

  Status add(std::string_view piece) {
    if (!begun_) print(begin());
    std::string text;
    for (size_t at = 0; at < piece.size();) {
      const size_t end = std::min(piece.find('\n', at), piece.size());
      text += fmt::format("{}\n    {}", any_ ? "," : "", piece.substr(at, end - at));
      any_ = true;
      at = end + 1;
    }
    print(text);
    return console_.out_status;
  }

  void end(const ExportResult& result, const Value& left_out) {
    if (!begun_) print(begin());
    print(fmt::format("{}],\n  \"rows\": {},\n  \"metrics\": {},\n  \"left_out\": {},\n  \"problems\": {}\n}}\n",
                      any_ ? "\n  " : "", result.rows, to_json(text_list(result.metrics)), to_json(left_out),
                      to_json(text_list(problems_to_show(console_, run_)))));
  }

 private:
  std::string begin() {
    begun_ = true;
    const RunIdentity& who = run_.identity();
    return fmt::format("{{\n  \"run\": {},\n  \"data\": [",
                       to_json(Value::Map{{"project", who.project}, {"id", who.id}, {"uid", who.uid.hex()}}));
  }
  void print(const std::string& text) { console_.print(visible_json(text)); }

  Console& console_;
  const RunView& run_;
  bool begun_ = false, any_ = false;
};

// On stdout: a document with the rows, in which they cannot be CSV.
Result<ExportResult> export_document(Console& console, RunView* run, ExportOptions form) {
  form.format = ExportFormat::kJsonl;
  form.run_line = false;  // the document says it
  RowsDocument document(console, *run);
  auto result = export_run(run, form, [&document](std::string_view piece) { return document.add(piece); });
  if (result.ok()) document.end(*result, left_out_of(run, form));
  return result;
}

Result<ExportResult> export_to_stdout(Console& console, RunView* run, const ExportOptions& form) {
  return export_run(run, form, [&console](std::string_view piece) {
    console.print(console.width > 0 ? visible_lines(piece) : piece);
    return console.out_status;
  });
}

int run_export_bundle(Console& console, const NamedRun& named, const ExportCommandOptions& options) {
  const RunFolder* run = &named.folder;
  Result<BundledArtifacts> artifacts = BundledArtifacts();
  if (options.artifacts && !named.store)
    return fail(console, Status(Code::kInvalid, fmt::format("{} is without the artifacts of its store", options.run),
                                "leave --artifacts out, or name the run in its store"));
  if (options.artifacts) artifacts = artifacts_for_bundle(*named.store, *run);
  if (!artifacts.ok()) return fail(console, artifacts.status());
  ProgressBar bar(console, "writing KiB");
  auto result = export_bundle(*run, options.bundle, artifacts->files,
                              [&bar](uint64_t done, uint64_t total) { bar.show(done >> 10, total >> 10); });
  bar.clear();
  if (!result.ok()) return fail(console, result.status());
  for (std::string& problem : media_problems(run->path)) {
    result->problems.push_back(std::move(problem));
    result->worst = worse_of(result->worst, Code::kCorrupt);
  }
  result->left_out.insert(result->left_out.end(), artifacts->left_out.begin(), artifacts->left_out.end());
  if (options.json) {
    Value::List left_out(result->left_out.begin(), result->left_out.end());
    Value::List with(artifacts->names.begin(), artifacts->names.end());
    std::vector<std::string> problems = result->problems;
    problems.insert(problems.end(), console.recovery_problems.begin(), console.recovery_problems.end());
    console.print(visible_json(to_json(Value::Map{{"output", absolute_path(options.bundle)},
                                                  {"format", "bundle"},
                                                  {"files", int64_t{result->files}},
                                                  {"bytes", static_cast<int64_t>(result->bytes)},
                                                  {"artifacts", std::move(with)},
                                                  {"left_out", std::move(left_out)},
                                                  {"problems", text_list(problems)}},
                                       2)) +
                  "\n");
    return finish(console, result->problems, result->worst);
  }
  for (const std::string& name : result->left_out) console.note("left out: " + visible(name));
  console.note(fmt::format("wrote {} of {}/{} to {}", counted(result->files, "file"), run->identity.project,
                           run->identity.id, options.bundle));
  return finish(console, result->problems, result->worst);
}

}  // namespace

int run_export(Console& console, const GlobalOptions& global, ExportCommandOptions options) {
  const bool to_stdout = options.output.empty() || options.output == "-";
  const auto named = find_named_run(console, global, options.run);
  if (!named.ok()) return fail(console, named.status());
  if (!options.bundle.empty()) return run_export_bundle(console, *named, options);
  const auto run = open_run(*named);
  if (!run.ok()) return fail(console, run.status());
  options.form.run_line = options.form.metrics.empty();
  const bool for_others = options.to != ExportCommandOptions::To::kText;
  ProgressBar bar(console, "writing points");
  // Rows on a terminal are their own sign of life.
  if (!to_stdout || console.width == 0)
    options.form.progress = [&bar](uint64_t done, uint64_t total) { bar.show(done, total); };
  const auto result = for_others      ? export_for_others(console, run->get(), &options)
                      : !to_stdout    ? export_to_file(run->get(), options)
                      : !options.json ? export_to_stdout(console, run->get(), options.form)
                                      : export_document(console, run->get(), options.form);
  bar.clear();
  if (!result.ok()) return fail(console, result.status());
  if (options.json && to_stdout) return finish(console, (*run)->problems(), (*run)->problem_code());
  const Value left_out = left_out_of(run->get(), options.form);
  if (options.json) {
    console.print(visible_json(result_json(console, options, **run, *result, left_out)) + "\n");
  } else if (!to_stdout) {
    console.note(fmt::format("wrote {} of {} to {}", counted(result->rows, "row"),
                             counted(result->metrics.size(), "metric"), options.output));
  }
  if (!options.json) note_left_out(console, left_out);
  return finish(console, (*run)->problems(), (*run)->problem_code());
}

}  // namespace tracker::internal
