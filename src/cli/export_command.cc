// SPDX-License-Identifier: MIT
// tracker export: a run as CSV or JSON lines, to stdout or to a file that appears whole.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/fs.h"
#include "cli/command.h"
#include "cli/text.h"

namespace tracker::internal {
namespace {

bool is_special_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

// Writes beside the target and renames: an export that fails leaves no half file and an old one as it was. A pipe or a
// device is written to directly.
Result<ExportResult> export_to_file(RunView* run, const ExportCommandOptions& options) {
  const bool direct = is_special_file(options.output);
  const std::string path = direct ? options.output : fmt::format("{}.part-{}", options.output, ::getpid());
  auto file = open_file(path, direct ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (!file.ok()) return Status::from_errno(file.status().system_errno(), "cannot write", options.output);
  auto result = export_run(run, options.form, [&file, &path](std::string_view piece) {
    const Status status = write_all(file->get(), piece);
    return status.ok() ? status : Status::from_errno(status.system_errno(), "cannot write", path);
  });
  if (direct) return result;
  if (result.ok() && ::rename(path.c_str(), options.output.c_str()) != 0)
    result = Status::from_errno(errno, "cannot rename the export to", options.output);
  if (!result.ok()) remove_file(path);
  return result;
}

std::string result_json(const ExportCommandOptions& options, const RunView& run, const ExportResult& result) {
  Value::List metrics, problems;
  for (const std::string& metric : result.metrics) metrics.emplace_back(metric);
  for (const std::string& problem : run.problems()) problems.emplace_back(problem);
  return to_json(Value::Map{{"output", absolute_path(options.output)},
                            {"format", options.form.format == ExportFormat::kCsv ? "csv" : "jsonl"},
                            {"rows", static_cast<int64_t>(result.rows)},
                            {"bytes", static_cast<int64_t>(result.bytes)},
                            {"metrics", metrics},
                            {"problems", problems}},
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

Status check_form(const ExportCommandOptions& options, bool to_stdout) {
  if (to_stdout && options.json)
    return Status(Code::kInvalid, "--json describes a file that was written: it needs --output FILE",
                  "--format jsonl writes the rows as JSON");
  return Status();
}

}  // namespace

int run_export(Console& console, const GlobalOptions& global, const ExportCommandOptions& options) {
  const bool to_stdout = options.output.empty() || options.output == "-";
  if (const Status status = check_form(options, to_stdout); !status.ok()) return fail(console, status);
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  const auto run = open_run(*store, options.run);
  if (!run.ok()) return fail(console, run.status());
  const auto result = to_stdout ? export_run(run->get(), options.form,
                                             [&console](std::string_view piece) {
                                               console.print(console.width > 0 ? visible_lines(piece) : piece);
                                               return console.out_status;
                                             })
                                : export_to_file(run->get(), options);
  if (!result.ok()) return fail(console, result.status());
  if (options.json) {
    console.print(visible_json(result_json(options, **run, *result)) + "\n");
  } else if (!to_stdout) {
    console.note(fmt::format("wrote {} of {} to {}", counted(result->rows, "row"),
                             counted(result->metrics.size(), "metric"), options.output));
  }
  return finish(console, (*run)->problems(), (*run)->problem_code());
}

}  // namespace tracker::internal
