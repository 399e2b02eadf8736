// SPDX-License-Identifier: MIT
// JSON lines: the output of `tracker export --format jsonl`, with or without the line of the run, or an object for each
// step with a key for each metric, as trainers log them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/fs.h"
#include "exchange/csv_value.h"
#include "exchange/import_source.h"
#include "exchange/row_columns.h"
#include "exchange/run_import.h"
#include "model/metric_definition.h"

namespace tracker::internal {
namespace {

// Limit: bytes of a line of JSON lines. Beyond it: a problem; the rest of the file is left out.
constexpr size_t kJsonLineBytesMax = 16u << 20;
constexpr size_t kJsonReadBytes = 1u << 20;

// Lines without their ends. Memory: one line and one piece of the file.
class LineReader {
 public:
  LineReader(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<bool> next(std::string* line) {
    for (;;) {
      const size_t end = buffer_.find('\n', at_);
      if (end != std::string::npos || (ended_ && at_ < buffer_.size())) {
        *line = buffer_.substr(at_, end == std::string::npos ? end : end - at_);
        at_ = end == std::string::npos ? buffer_.size() : end + 1;
        ++number_;
        return true;
      }
      if (ended_) return false;
      buffer_.erase(0, at_);
      at_ = 0;
      if (buffer_.size() > kJsonLineBytesMax)
        return Status(Code::kLimit, fmt::format("{}: line {} has more than 16 MiB", path_, number_ + 1),
                      "what is before it was taken");
      TRACKER_RETURN_IF_ERROR(fill());
    }
  }
  uint64_t number() const { return number_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Status fill() {
    const size_t there = buffer_.size();
    buffer_.resize(there + kJsonReadBytes);
    ssize_t n;
    do {
      n = ::read(fd_.get(), buffer_.data() + there, kJsonReadBytes);
    } while (n < 0 && errno == EINTR);
    const int error = errno;
    buffer_.resize(there + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0) return Status::from_errno(error, "cannot read", path_);
    ended_ = n == 0;
    bytes_ += static_cast<uint64_t>(n);
    return {};
  }

  Fd fd_;
  std::string path_, buffer_;
  size_t at_ = 0;
  uint64_t number_ = 0, bytes_ = 0;
  bool ended_ = false;
};

// The text of a number in the line, which may need more than a double. `mark` is `,"value":`: within a text its quotes
// would be escaped.
std::string_view digits_after(std::string_view line, std::string_view mark) {
  const size_t begin = line.find(mark);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + mark.size());
  return line.substr(0, line.find_first_of(",}"));
}

std::optional<ValueType> type_named(std::string_view name) {
  for (const ValueType type : {ValueType::kFloat64, ValueType::kFloat32, ValueType::kFloat16, ValueType::kBFloat16,
                               ValueType::kInt64, ValueType::kBool})
    if (name == value_type_name(type)) return type;
  return std::nullopt;
}

template <typename T>
std::optional<uint64_t> bits_in(std::string_view text, int base = 0) {
  T out{};
  const char* end = text.data() + text.size();
  std::from_chars_result result;
  if constexpr (std::is_integral_v<T>) result = std::from_chars(text.data(), end, out, base == 0 ? 10 : base);
  else result = std::from_chars(text.data(), end, out);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  if constexpr (std::is_same_v<T, uint64_t>) return out;
  else return bits_of(out);
}

// The text for floats that JSON does not have.
std::string_view special_digits(std::string_view text) {
  return text == "NaN" ? "nan" : text == "Infinity" ? "inf" : text == "-Infinity" ? "-inf" : "";
}

const Value::Map& part_of(const Value& run, std::string_view name) {
  static const Value::Map none;
  const Value* part = run.find(name);
  return part != nullptr && part->is_map() ? *part->as_map() : none;
}

bool is_attribute(std::string_view key, const Value& value) {
  if (key == kDuplicatePolicyKey) return value == Value("first") || value == Value("last");
  if (key == "name" || key == "notes" || key == "group" || key == "job_type") return value.as_text() != nullptr;
  const Value::List* list = key == "tags" ? value.as_list() : nullptr;
  return list != nullptr &&
         std::all_of(list->begin(), list->end(), [](const Value& tag) { return tag.as_text() != nullptr; });
}

class JsonlImport {
 public:
  JsonlImport(std::string path, std::string step_column, int64_t file_us)
      : path_(std::move(path)), step_column_(std::move(step_column)), file_us_(file_us) {}
  void into(RunImport* run) { run_ = run; }

  // The first line of an export of a whole run.
  Status header(const Value& run) {
    for (const auto& [metric, name] : part_of(run, "types"))
      if (const auto type = name.as_text() != nullptr ? type_named(*name.as_text()) : std::nullopt)
        types_[metric] = *type;
    for (const auto& [key, value] : part_of(run, "config"))
      TRACKER_RETURN_IF_ERROR(run_->set(EventType::kConfig, key, value));
    for (const auto& [key, value] : part_of(run, "summary"))
      TRACKER_RETURN_IF_ERROR(run_->set(EventType::kSummary, key, value));
    for (const auto& [key, value] : part_of(run, "metrics"))
      TRACKER_RETURN_IF_ERROR(run_->set(EventType::kMetric, key, MetricDefinition::from_value(value).to_value()));
    for (const auto& [key, value] : part_of(run, "attributes"))
      if (is_attribute(key, value)) TRACKER_RETURN_IF_ERROR(run_->set(EventType::kAttribute, key, value));
    return {};
  }

  Status line(std::string_view line, uint64_t number) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    const auto row = from_json(line);
    if (!row.ok() || !row->is_map()) {
      skip("lines that are no JSON objects", number);
      return {};
    }
    const Value* metric = row->find("metric");
    const Value* value = row->find("value");
    if (metric == nullptr || metric->as_text() == nullptr || value == nullptr) return wide(*row, number);
    const Value* step = row->find("step");
    const int64_t* at = step == nullptr ? nullptr : step->as_int();
    const auto time_us = csv_time(digits_after(line, ",\"time\":"));
    if (!time_us) skip("times that cannot be read", number);
    const auto kind = row->text_or("type", "");
    if (value->as_text() != nullptr && (kind == "text" || special_digits(*value->as_text()).empty()))
      return run_->text(*metric->as_text(), *value->as_text(), at == nullptr ? 0 : *at, at != nullptr,
                        time_us.value_or(file_us_));
    const auto declared = types_.find(*metric->as_text());
    auto type = type_named(kind);
    if (!type && declared != types_.end()) type = declared->second;
    const auto number_found = number_of(*row, *value, digits_after(line, ",\"value\":"), type);
    if (!number_found) {
      skip("values that cannot be read", number);
      return {};
    }
    const ValuePair pair{number_found->bits, run_->series(*metric->as_text(), number_found->type), 0};
    return run_->row({&pair, 1}, at == nullptr ? 0 : *at, at != nullptr, time_us.value_or(file_us_));
  }

  std::vector<std::string> problems() const {
    std::vector<std::string> out;
    for (const auto& [kind, what] : skipped_)
      out.push_back(fmt::format("{}: {} {} were left out, first in line {}; everything else was taken", path_,
                                what.first, kind, what.second));
    return out;
  }

 private:
  static std::optional<CsvNumber> number_of(const Value& row, const Value& value, std::string_view digits,
                                            std::optional<ValueType> type) {
    if (const std::string bits = row.text_or("bits", ""); type && bits.starts_with("0x")) {
      const auto found = bits_in<uint64_t>(std::string_view(bits).substr(2), 16);
      return found ? std::optional(CsvNumber{*type, *found}) : std::nullopt;
    }
    if (const std::string* text = value.as_text()) digits = special_digits(*text);
    if (!type) return csv_number(digits);
    std::optional<uint64_t> bits;
    if (const bool* truth = value.as_bool()) bits = bits_of(*truth);
    else if (*type == ValueType::kInt64) bits = bits_in<int64_t>(digits);
    else if (*type == ValueType::kFloat32) bits = bits_in<float>(digits);
    else if (*type == ValueType::kFloat64) bits = bits_in<double>(digits);
    if (!bits || (value.as_bool() != nullptr) != (*type == ValueType::kBool)) return std::nullopt;
    return CsvNumber{*type, *bits};
  }

  // An object a step.
  Status wide(const Value& row, uint64_t number) {
    std::vector<std::string> names;
    for (const auto& [name, value] : *row.as_map()) names.push_back(name);
    const size_t step_at = step_column_.empty() ? step_column(names) : column_named(names, step_column_);
    const size_t time_at = time_column(names);
    if (step_at == kNoColumn) skip("lines without a step (--step COLUMN names it)", number);
    if (step_at == kNoColumn) return {};
    const auto step = csv_step(plain_text((*row.as_map())[step_at].second));
    if (!step) skip("steps that are no integers", number);
    const auto time = time_at == kNoColumn ? std::nullopt : csv_time(plain_text((*row.as_map())[time_at].second));
    if (!time && time_at != kNoColumn) skip("times that cannot be read", number);
    pairs_.clear();
    const int64_t time_us = time.value_or(file_us_);
    for (size_t i = 0; i < names.size(); ++i)
      if (i != step_at && (i != time_at || !time))
        TRACKER_RETURN_IF_ERROR(cell(names[i], (*row.as_map())[i].second, step, time_us, number));
    return pairs_.empty() ? Status() : run_->row(pairs_, step.value_or(0), step.has_value(), time_us);
  }

  static std::string plain_text(const Value& value) {
    return value.as_text() != nullptr ? *value.as_text() : to_json(value);
  }

  Status cell(const std::string& name, const Value& value, std::optional<int64_t> step, int64_t time_us,
              uint64_t number) {
    if (const Value::Map* map = value.as_map()) {
      for (const auto& [key, below] : *map)
        TRACKER_RETURN_IF_ERROR(cell(name + "/" + key, below, step, time_us, number));
      return {};
    }
    const std::string* text = value.as_text();
    const std::string_view digits = text != nullptr ? special_digits(*text) : "";
    if (text != nullptr && digits.empty()) return run_->text(name, *text, step.value_or(0), step.has_value(), time_us);
    if (const auto found = csv_number(text != nullptr ? std::string(digits) : to_json(value)))
      pairs_.push_back({found->bits, run_->series(name, found->type), 0});
    else if (!value.is_null()) skip("values that are no numbers or texts", number);
    return {};
  }

  void skip(const char* kind, uint64_t line) {
    run_->leave_out(kind);
    auto& [count, first] = skipped_[kind];
    if (count++ == 0) first = line;
  }

  RunImport* run_ = nullptr;
  std::string path_, step_column_;
  int64_t file_us_;
  std::map<std::string, ValueType> types_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> skipped_;  // how many, and the line of the first
  std::vector<ValuePair> pairs_;
};

RunState state_of(const Value& run) {
  const std::string name = run.text_or("state", "");
  for (const RunState state : {RunState::kFailed, RunState::kInterrupted, RunState::kCrashed})
    if (name == run_state_name(state)) return state;
  return RunState::kFinished;
}

Status import_file(ImportStore* store, const ImportOptions& options, const std::string& path,
                   const std::function<void(uint64_t)>& done) {
  ImportReport& report = store->report();
  auto fd = open_file(path, O_RDONLY);
  if (!fd.ok()) {
    report.add_problem(fd.status().code(), fd.status().to_string());
    return {};
  }
  LineReader reader(std::move(*fd), path);
  std::string line;
  auto more = reader.next(&line);
  if (more.ok() && !*more) more = Status(Code::kInvalid, path + " is empty");
  if (!more.ok()) {
    report.add_problem(more.status().code(), more.status().to_string());
    return {};
  }
  const auto first = from_json(line);
  const Value* header = first.ok() && first->find("metric") == nullptr ? first->find("run") : nullptr;
  if (header != nullptr && !header->is_map()) header = nullptr;
  ImportIdentity identity;
  identity.kind = "jsonl";
  identity.key = identity.source = path;
  identity.project = last_name(parent_path(path));
  const std::string name = name_below(options.source, path);
  identity.label = name.substr(0, name.rfind('.'));
  const int64_t file_us = modified_us(path);
  identity.created_us = file_us != 0 ? file_us : 1;
  if (header != nullptr) {
    identity.project = header->text_or("project", identity.project);
    identity.label = header->text_or("id", identity.label);
    identity.created_us = std::max<int64_t>(header->int_or("created_us", identity.created_us), 1);
  }
  if (!options.project.empty()) identity.project = options.project;
  auto run = RunImport::begin(store, identity);
  if (!run.ok()) return run.status();
  JsonlImport import(path, options.step_column, file_us);
  import.into(run->get());
  if (header != nullptr) TRACKER_RETURN_IF_ERROR(import.header(*header));
  else TRACKER_RETURN_IF_ERROR(import.line(line, reader.number()));
  constexpr uint64_t kLinesAStep = 4096;
  for (;;) {
    more = reader.next(&line);
    if (!more.ok()) report.add_problem(more.status().code(), more.status().to_string());
    if (!more.ok() || !*more) break;
    TRACKER_RETURN_IF_ERROR(import.line(line, reader.number()));
    if (reader.number() % kLinesAStep == 0) done(reader.bytes());
  }
  for (std::string& problem : import.problems()) report.add_problem(Code::kCorrupt, std::move(problem));
  return (*run)->finish(header == nullptr ? RunState::kFinished : state_of(*header),
                        header != nullptr && state_of(*header) == RunState::kFailed ? 1 : 0,
                        header == nullptr ? 0 : header->int_or("ended_us", 0));
}

}  // namespace

Status import_jsonl(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                    const ImportProgress& progress) {
  std::vector<std::string> paths = files.jsonl_files;
  if (paths.empty() && !is_directory(options.source)) paths.push_back(options.source);
  const uint64_t total = bytes_of(paths);
  uint64_t before = 0;
  for (const std::string& path : paths) {
    TRACKER_RETURN_IF_ERROR(import_file(store, options, path, [&](uint64_t bytes) {
      if (progress) progress(std::min(before + bytes, total), total);
    }));
    before += bytes_of({path});
  }
  return {};
}

}  // namespace tracker::internal
