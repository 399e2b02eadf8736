// SPDX-License-Identifier: MIT
// CSV (RFC 4180) with a line of names: the long form that `tracker export` writes (metric, step, time, value, and rank
// and attempt, which are left out), or the wide one, a column a metric beside one of steps and perhaps one of times.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/bytes.h"
#include "base/fs.h"
#include "exchange/csv_value.h"
#include "exchange/import_source.h"
#include "exchange/run_import.h"

#include <fcntl.h>
#include <unistd.h>

namespace tracker::internal {
namespace {

constexpr size_t kCsvBufferBytes = 1u << 20;
constexpr size_t kCsvLineBytesMax = 16u << 20;
constexpr size_t kCsvColumnsMax =
    65'536;  // a field takes some 32 bytes beside its text: a line of commas would take a GiB
constexpr size_t kNone = static_cast<size_t>(-1);

// Lines of fields. Memory: one line, at most some 64 MiB.
class CsvReader {
 public:
  explicit CsvReader(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  // False at the end. kCorrupt names the line.
  Result<bool> next(std::vector<std::string>* fields) {
    fields->assign(1, "");
    in_quotes_.assign(1, false);
    bool quoted = false, any = false;
    const uint64_t begin = bytes_;
    size_t kept = 0;  // of the field: what stood in quotes and before
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
      } else if ((c == '\n' || c == '\r') && !quoted) {  // also CR alone, as programs of the old Macintosh write it
        if (c == '\r' && peek() == '\n') get();
        trim(&fields->back(), kept);
        return true;
      } else {
        fields->back() += static_cast<char>(c);
      }
    }
  }
  // Of the line that next() gave: whether each field, or a part of it, stood in quotes.
  const std::vector<bool>& in_quotes() const { return in_quotes_; }
  uint64_t line() const { return line_; }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr int kEof = -1;
  // Blanks at the ends, which many programs write behind a comma, are no part of a field that is not in quotes.
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

size_t column_of(const std::vector<std::string>& names, std::initializer_list<std::string_view> wanted) {
  for (const std::string_view name : wanted)
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return i;
  return kNone;
}

class CsvImport {
 public:
  CsvImport(std::vector<std::string> names, int64_t file_us) : names_(std::move(names)), file_us_(file_us) {
    step_ = column_of(names_, {"step", "Step", "_step", "global_step", "iteration", "epoch"});
    time_ = column_of(names_, {"time", "timestamp", "_timestamp", "Wall time", "wall_time"});
    metric_ = column_of(names_, {"metric"});
    value_ = column_of(names_, {"value"});
  }
  void into(RunImport* run) { run_ = run; }
  bool has_steps() const { return step_ != kNone; }
  static bool is_blank(const std::vector<std::string>& fields) { return fields.size() == 1 && fields[0].empty(); }
  bool has_times() const { return time_ != kNone; }
  // Of a line.
  std::optional<int64_t> time_of(const std::vector<std::string>& fields) const {
    return has_times() && fields.size() == names_.size() ? csv_time(fields[time_]) : std::nullopt;
  }

  Status line(const std::vector<std::string>& fields, const std::vector<bool>& in_quotes) {
    const auto text_at = [&fields](size_t at) { return at < fields.size() ? std::string_view(fields[at]) : ""; };
    if (is_blank(fields)) return {};
    if (fields.size() != names_.size()) run_->leave_out("lines with more or fewer fields than names");
    if (fields.size() != names_.size()) return {};
    const auto step = csv_step(text_at(step_));
    if (!step && !text_at(step_).empty()) run_->leave_out("steps that are no integers");
    const auto time = time_ == kNone ? std::nullopt : csv_time(text_at(time_));
    if (!time && time_ != kNone && !text_at(time_).empty()) run_->leave_out("times that cannot be read");
    const int64_t time_us = time.value_or(file_us_);
    pairs_.clear();
    if (metric_ != kNone && value_ != kNone) {
      // `tracker export` has texts in quotes that could be numbers, and steps never: not a program that quotes all.
      const bool is_text = in_quotes[value_] && (step_ == kNone || !in_quotes[step_]);
      TRACKER_RETURN_IF_ERROR(is_text ? text(fields[metric_], fields[value_], step, time_us)
                                      : cell(fields[metric_], fields[value_], step, time_us, false));
    } else {
      for (size_t i = 0; i < fields.size(); ++i)
        if (i != step_ && i != time_) TRACKER_RETURN_IF_ERROR(cell(names_[i], fields[i], step, time_us, true));
    }
    return pairs_.empty() ? Status() : run_->row(pairs_, step.value_or(0), step.has_value(), time_us);
  }

 private:
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
  std::vector<std::string> names_;
  int64_t file_us_;
  size_t step_, time_, metric_, value_;
  std::vector<ValuePair> pairs_;
};

// When the run began: the least time of all lines, which may stand by metric, or the newest first. nullopt: none has
// one. What is damaged ends the search; the import names it.
Result<std::optional<int64_t>> least_time(const CsvImport& import, const std::string& path) {
  std::optional<int64_t> out;
  auto fd = open_file(path, O_RDONLY);
  if (!fd.ok()) return fd.status();
  CsvReader reader(std::move(*fd), path);
  std::vector<std::string> fields;
  auto more = reader.next(&fields);  // the names
  while (more.ok() && *more) {
    more = reader.next(&fields);
    if (const auto time = more.ok() && *more ? import.time_of(fields) : std::nullopt)
      out = std::min(out.value_or(*time), *time);
  }
  return out;
}

std::string without_ending(const std::string& name) { return name.substr(0, name.size() - 4); }

Status import_file(ImportStore* store, const ImportOptions& options, const std::string& path, int64_t file_us,
                   const std::function<void(uint64_t)>& done) {
  const auto problem = [store](const Status& status) {
    store->report().add_problem(status.code(), status.to_string());
  };
  auto fd = open_file(path, O_RDONLY);
  if (!fd.ok()) return problem(fd.status()), Status();
  CsvReader reader(std::move(*fd), path);
  std::vector<std::string> fields;
  auto more = reader.next(&fields);
  if (more.ok() && !*more) more = Status(Code::kInvalid, path + " is empty");
  if (!more.ok()) return problem(more.status()), Status();
  if (fields[0].starts_with("\xef\xbb\xbf")) fields[0].erase(0, 3);
  ImportIdentity identity;
  identity.kind = "csv";
  identity.key = identity.source = path;
  const std::string folder = parent_path(path);
  identity.project = !options.project.empty() ? options.project : last_name(folder);
  const std::string name = name_below(options.source, path);
  identity.label = name.ends_with(".csv") ? without_ending(name) : name;
  CsvImport import(fields, file_us);
  if (!import.has_steps())
    return problem(Status(Code::kInvalid, fmt::format("{}: no column is called step", path),
                          "nothing of it was stored; the first line must name the columns")),
           Status();
  const auto least = import.has_times() ? least_time(import, path) : Result<std::optional<int64_t>>(std::nullopt);
  if (!least.ok()) return problem(least.status()), Status();
  const int64_t begin_us = least->value_or(file_us);
  identity.created_us = begin_us != 0 ? begin_us : 1;  // 0: not known
  auto run = RunImport::begin(store, identity);
  if (!run.ok()) return run.status();
  import.into(run->get());
  constexpr uint64_t kLinesAStep = 4096;
  for (;;) {
    more = reader.next(&fields);
    if (!more.ok()) problem(more.status());
    if (!more.ok() || !*more) break;
    TRACKER_RETURN_IF_ERROR(import.line(fields, reader.in_quotes()));
    if (reader.line() % kLinesAStep == 0) done(reader.bytes());
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
  for (const std::string& path : paths) {
    const auto done = [&](uint64_t bytes) {
      if (progress) progress(std::min(before + bytes, total), total);
    };
    TRACKER_RETURN_IF_ERROR(import_file(store, options, path, modified_us(path), done));
    before += bytes_of({path});
  }
  return {};
}

}  // namespace tracker::internal
