// SPDX-License-Identifier: MIT
// CSV (RFC 4180) with a line of names: the long form that `tracker export` writes (metric, step, time, value, and rank
// and attempt, which are ignored), or the wide form, a column for each metric with one of steps and perhaps one of
// times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "base/fs.h"
#include "exchange/csv_value.h"
#include "exchange/import_source.h"
#include "exchange/row_columns.h"
#include "exchange/run_import.h"

#include <fcntl.h>
#include <unistd.h>

namespace tracker::internal {
namespace {

constexpr size_t kCsvBufferBytes = 1u << 20;
// Limit: bytes of a line of a CSV. Beyond it: a problem; the rest of the file is left out.
constexpr size_t kCsvLineBytesMax = 16u << 20;
// Limit: fields of a line of a CSV. Beyond it: a problem; the rest of the file is left out.
constexpr size_t kCsvColumnsMax =
    65'536;  // a field takes about 32 bytes besides its text: a line of commas would take a GiB

// Lines of fields. Memory: one line, at most some 64 MiB.
class CsvReader {
 public:
  explicit CsvReader(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  // Returns false at the end. kCorrupt names the line.
  Result<bool> next(std::vector<std::string>* fields) {
    fields->assign(1, "");
    in_quotes_.assign(1, false);
    bool quoted = false, any = false;
    const uint64_t begin = bytes_;
    size_t kept = 0;  // length of the field's quoted text and of what precedes it
    ++line_;
    const uint64_t first = line_;
    for (;;) {
      const int c = get();
      if (c == kEof) {
        if (!error_.ok()) return error_;
        if (quoted)
          return Status(Code::kCorrupt, fmt::format("{}: the quote in line {} does not end", path_, first),
                        "what is before it was taken");
        trim(&fields->back(), kept);
        return any;
      }
      any = true;
      if (bytes_ - begin > kCsvLineBytesMax)
        return Status(Code::kLimit, fmt::format("{}: line {} has more than 16 MiB", path_, first),
                      "what is before it was taken");
      if (c == '\n' && quoted) ++line_;
      if (c == '"') {
        if (quoted && peek() == '"') {
          fields->back() += static_cast<char>(get());
          continue;
        }
        if (!quoted && kept == 0) trim(&fields->back(), 0);  // blanks before the quote
        quoted = !quoted;
        in_quotes_.back() = true;
        kept = std::max<size_t>(fields->back().size(), 1);
      } else if (c == ',' && !quoted) {
        if (fields->size() >= kCsvColumnsMax)
          return Status(Code::kLimit, fmt::format("{}: line {} has more than {} fields", path_, first, kCsvColumnsMax),
                        "what is before it was taken");
        trim(&fields->back(), kept);
        kept = 0;
        fields->emplace_back();
        in_quotes_.push_back(false);
      } else if ((c == '\n' || c == '\r') && !quoted) {  // also CR alone, as in files of the classic Mac OS
        if (c == '\r' && peek() == '\n') get();
        trim(&fields->back(), kept);
        return true;
      } else {
        fields->back() += static_cast<char>(c);
      }
    }
  }
  // For the line of the last next(): whether each field, or a part of it, was quoted.
  const std::vector<bool>& in_quotes() const { return in_quotes_; }
  uint64_t line() const { return line_; }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr int kEof = -1;
  // Blanks at the ends of an unquoted field, which many programs write after a comma, are removed.
  static void trim(std::string* field, size_t kept) {
    while (field->size() > kept && (field->back() == ' ' || field->back() == '\t')) field->pop_back();
    if (kept == 0) field->erase(0, field->find_first_not_of(" \t"));
  }
  int peek() {
    if (at_ == buffer_.size() && !fill()) return kEof;
    return static_cast<uint8_t>(buffer_[at_]);
  }
  int get() {
    const int c = peek();
    if (c != kEof) ++at_, ++bytes_;
    return c;
  }
  bool fill() {
    buffer_.resize(kCsvBufferBytes);
    ssize_t n;
    do {
      n = ::read(fd_.get(), buffer_.data(), buffer_.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) error_ = Status::from_errno(errno, "cannot read", path_);
    buffer_.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    at_ = 0;
    return n > 0;
  }

  Fd fd_;
  std::string path_, buffer_;
  std::vector<bool> in_quotes_;
  size_t at_ = 0;
  uint64_t line_ = 0, bytes_ = 0;
  Status error_;
};

// Renames as pandas does: no metric without a name, and no two with the same.
void name_columns(std::vector<std::string>* names) {
  std::set<std::string> seen;
  for (size_t i = 0; i < names->size(); ++i) {
    std::string& name = (*names)[i];
    if (name.empty()) name = fmt::format("Unnamed: {}", i);
    const std::string first = name;
    for (size_t n = 1; !seen.insert(name).second; ++n) name = fmt::format("{}.{}", first, n);
  }
}

class CsvImport {
 public:
  // `step`: the name of the column of steps; empty: one of the usual names. `prefix` is put before each metric.
  CsvImport(std::vector<std::string> names, std::string step, std::string prefix, int64_t file_us)
      : wanted_step_(std::move(step)), prefix_(std::move(prefix)), file_us_(file_us) {
    take_names(std::move(names));
  }
  void into(RunImport* run) { run_ = run; }
  bool has_steps() const { return step_ != kNoColumn; }
  static bool is_blank(const std::vector<std::string>& fields) { return fields.size() == 1 && fields[0].empty(); }
  bool has_times() const { return time_ != kNoColumn; }
  // Of a line.
  std::optional<int64_t> time_of(const std::vector<std::string>& fields) const {
    return has_times() && fields.size() == names_.size() ? csv_time(fields[time_]) : std::nullopt;
  }

  // Whether a program that continued the file wrote its names again, perhaps with more of them: the column of steps has
  // its own name in it, or another column does and its step is not a number. If so they are the names from here on.
  bool is_header(const std::vector<std::string>& fields) {
    const auto named = std::find(fields.begin(), fields.end(), step_name_);
    if (step_name_.empty() || named == fields.end()) return false;
    if (step_ < fields.size() && fields[step_] != step_name_ && csv_step(fields[step_])) return false;
    if (std::any_of(fields.begin(), fields.end(),
                    [](const std::string& field) { return csv_number(field).has_value(); }))
      return false;
    take_names(fields);
    return true;
  }

  Status line(const std::vector<std::string>& fields, const std::vector<bool>& in_quotes, uint64_t number) {
    const auto text_at = [&fields](size_t at) { return at < fields.size() ? std::string_view(fields[at]) : ""; };
    if (is_blank(fields) || is_header(fields)) return {};
    if (fields.size() != names_.size()) skip("lines with more or fewer fields than names", number);
    if (fields.size() != names_.size()) return {};
    const auto step = csv_step(text_at(step_));
    if (!step && !text_at(step_).empty()) skip("steps that are no integers", number);
    const auto time = time_ == kNoColumn ? std::nullopt : csv_time(text_at(time_));
    if (!time && time_ != kNoColumn && !text_at(time_).empty()) skip("times that cannot be read", number);
    const int64_t time_us = time.value_or(file_us_);
    pairs_.clear();
    if (metric_ != kNoColumn && value_ != kNoColumn) {
      // `tracker export` quotes texts that could be numbers, and never steps; other programs quote every field.
      const bool is_text = in_quotes[value_] && (step_ == kNoColumn || !in_quotes[step_]);
      const std::string metric = prefix_ + fields[metric_];
      TRACKER_RETURN_IF_ERROR(is_text ? text(metric, fields[value_], step, time_us)
                                      : cell(metric, fields[value_], step, time_us, false));
    } else {
      for (size_t i = 0; i < fields.size(); ++i)
        if (i != step_ && i != time_) TRACKER_RETURN_IF_ERROR(cell(metrics_[i], fields[i], step, time_us, true));
    }
    return pairs_.empty() ? Status() : run_->row(pairs_, step.value_or(0), step.has_value(), time_us);
  }

  // A line for each kind of row that was omitted.
  std::vector<std::string> problems(const std::string& path) const {
    std::vector<std::string> out;
    for (const auto& [kind, what] : skipped_)
      out.push_back(fmt::format("{}: {} {} were left out, first in line {}; everything else was taken", path,
                                what.count, kind, what.line));
    return out;
  }

 private:
  struct Skipped {
    uint64_t count = 0, line = 0;
  };

  void take_names(std::vector<std::string> names) {
    if (names_.empty()) {
      step_ = wanted_step_.empty() ? step_column(names) : column_named(names, wanted_step_);
      step_name_ = step_ == kNoColumn ? "" : names[step_];
    } else {
      step_ = column_named(names, step_name_);
    }
    time_ = time_column(names);
    metric_ = column_named(names, "metric");
    value_ = column_named(names, "value");
    names_ = std::move(names);
    metrics_ = names_;
    name_columns(&metrics_);
    for (std::string& metric : metrics_) metric.insert(0, prefix_);
  }

  void skip(const char* kind, uint64_t line) {
    run_->leave_out(kind);
    Skipped& skipped = skipped_[kind];
    if (skipped.count++ == 0) skipped.line = line;
  }

  Status cell(const std::string& metric, const std::string& text, std::optional<int64_t> step, int64_t time_us,
              bool wide) {
    if (wide && text.empty()) return {};
    if (const auto number = csv_number(text)) {
      pairs_.push_back({number->bits, run_->series(metric, number->type), 0});
      return {};
    }
    return this->text(metric, text, step, time_us);
  }

  Status text(const std::string& metric, const std::string& text, std::optional<int64_t> step, int64_t time_us) {
    return run_->text(metric, text, step.value_or(0), step.has_value(), time_us);
  }

  RunImport* run_ = nullptr;
  std::string wanted_step_, prefix_, step_name_;
  std::vector<std::string> names_, metrics_;  // as in the file; as in the run
  int64_t file_us_;
  size_t step_ = kNoColumn, time_ = kNoColumn, metric_ = kNoColumn, value_ = kNoColumn;
  std::map<std::string, Skipped> skipped_;
  std::vector<ValuePair> pairs_;
};

// The start of the run: the smallest time of all lines, which may be sorted by metric or newest first. nullopt: there
// is none. Damage ends the search; the import reports it.
std::optional<int64_t> least_time(CsvImport import, const std::string& path) {
  std::optional<int64_t> out;
  auto fd = open_file(path, O_RDONLY);
  if (!fd.ok()) return out;
  CsvReader reader(std::move(*fd), path);
  std::vector<std::string> fields;
  auto more = reader.next(&fields);  // the names
  while (more.ok() && *more) {
    more = reader.next(&fields);
    if (!more.ok() || !*more || import.is_header(fields)) continue;
    if (const auto time = import.time_of(fields)) out = std::min(out.value_or(*time), *time);
  }
  return out;
}

std::string without_ending(const std::string& name) {
  return name.ends_with(".csv") ? name.substr(0, name.size() - 4) : name;
}

struct OpenCsv {
  std::unique_ptr<CsvReader> reader;
  CsvImport import;
  int64_t begin_us;
};

// Opens the file and reads its names. Errors are of the file.
Result<OpenCsv> open_csv(const ImportOptions& options, const std::string& path, const std::string& prefix) {
  auto fd = open_file(path, O_RDONLY);
  if (!fd.ok()) return fd.status();
  auto reader = std::make_unique<CsvReader>(std::move(*fd), path);
  std::vector<std::string> names;
  auto more = reader->next(&names);
  if (!more.ok()) return more.status();
  if (!*more) return Status(Code::kInvalid, path + " is empty");
  if (names[0].starts_with("\xef\xbb\xbf")) names[0].erase(0, 3);
  const int64_t file_us = modified_us(path);
  CsvImport import(names, options.step_column, prefix, file_us);
  if (!import.has_steps()) {
    if (const size_t at = names[0].find_first_of(";\t"); names.size() == 1 && at != std::string::npos)
      return Status(
          Code::kInvalid,
          fmt::format("{}: its fields are separated by {}, not by \",\"", path, names[0][at] == ';' ? "\";\"" : "tabs"),
          "nothing of it was stored; write it with \",\" between the fields");
    names.resize(std::min<size_t>(names.size(), 10));
    return Status(
        Code::kInvalid,
        fmt::format("{}: no column is called {}", path, options.step_column.empty() ? "step" : options.step_column),
        fmt::format("nothing of it was stored; --step COLUMN says which counts the steps: {}", fmt::join(names, ", ")));
  }
  const auto least = import.has_times() ? least_time(import, path) : std::nullopt;
  return OpenCsv{std::move(reader), std::move(import), least.value_or(file_us)};
}

// Imports files into one run, that of `identity`.
Status import_files(ImportStore* store, const ImportOptions& options, ImportIdentity identity,
                    const std::vector<std::string>& paths, const std::function<void(uint64_t)>& done) {
  ImportReport& report = store->report();
  const auto open = [&](const std::string& path) {
    return open_csv(options, path, paths.size() > 1 ? without_ending(last_name(path)) + "/" : "");
  };
  std::vector<std::string> taken;
  int64_t begin_us = INT64_MAX;
  for (const std::string& path : paths) {
    const auto file = open(path);
    if (!file.ok()) {
      report.add_problem(file.status().code(), file.status().to_string());
      continue;
    }
    taken.push_back(path);
    begin_us = std::min(begin_us, file->begin_us);
  }
  if (taken.empty()) return {};
  identity.created_us = begin_us != 0 ? begin_us : 1;  // 0: not known
  auto run = RunImport::begin(store, identity);
  if (!run.ok()) return run.status();
  constexpr uint64_t kLinesAStep = 4096;
  for (const std::string& path : taken) {
    auto file = open(path);
    if (!file.ok()) return file.status();
    file->import.into(run->get());
    std::vector<std::string> fields;
    for (;;) {
      const auto more = file->reader->next(&fields);
      if (!more.ok()) report.add_problem(more.status().code(), more.status().to_string());
      if (!more.ok() || !*more) break;
      TRACKER_RETURN_IF_ERROR(file->import.line(fields, file->reader->in_quotes(), file->reader->line()));
      if (file->reader->line() % kLinesAStep == 0) done(file->reader->bytes());
    }
    for (std::string& line : file->import.problems(path)) report.add_problem(Code::kCorrupt, std::move(line));
  }
  return (*run)->finish(RunState::kFinished);
}

}  // namespace

Status import_csv(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                  const ImportProgress& progress) {
  std::vector<std::string> paths = files.csv_files;
  if (paths.empty() && !is_directory(options.source)) paths.push_back(options.source);
  const uint64_t total = bytes_of(paths);
  uint64_t before = 0;
  const auto done = [&](uint64_t bytes) {
    if (progress) progress(std::min(before + bytes, total), total);
  };
  std::map<std::string, std::vector<std::string>> runs;  // by the name of the run
  for (const std::string& path : paths) runs[options.join.value_or(false) ? parent_path(path) : path].push_back(path);
  for (const auto& [source, files_of_run] : runs) {
    ImportIdentity identity;
    identity.kind = "csv";
    identity.key = identity.source = source;
    const std::string folder = parent_path(files_of_run.front());
    identity.project = !options.project.empty() ? options.project : last_name(folder);
    const bool is_source = source == options.source;
    identity.label = without_ending(is_source ? last_name(source) : name_below(options.source, source));
    TRACKER_RETURN_IF_ERROR(import_files(store, options, identity, files_of_run, done));
    before += bytes_of(files_of_run);
  }
  return {};
}

}  // namespace tracker::internal
