// SPDX-License-Identifier: MIT
// The filter over runs: one language for the console, tracker.runs(where=...) and `tracker ls --where`. docs/filter.md
// is its reference: grammar, fields, values and what a test says of a missing value. This file is the tree and its
// evaluation; Filter::parse() hides the parser. Threads: values; const calls by any. Cost: no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/filter/regex.h"
#include "model/value.h"

namespace tracker::internal {

// Limit: bytes of a filter, of an order, of a list of columns. Beyond it: an error.
constexpr size_t kFilterBytesMax = 16 * 1024;
// Limit: nesting of "(" and "not" in a filter. Beyond it: an error with the column.
constexpr int kFilterDepthMax = 64;
// Limit: tests and words of a filter. Beyond it: an error with the column.
constexpr size_t kFilterTestsMax = 1000;
// Limit: values of an `in` list of a filter. Beyond it: an error with the column.
constexpr size_t kFilterListMax = 1000;
// Limit: fields of an order. Beyond it: an error with the column.
constexpr size_t kSortFieldsMax = 8;
// Limit: columns of a listing. Beyond it: an error with the column.
constexpr size_t kColumnFieldsMax = 100;

enum class FilterFieldId : uint8_t {
  kProject,
  kId,
  kUid,
  kName,
  kState,
  kTags,
  kGroup,
  kJobType,
  kNotes,
  kHost,
  kCreated,
  kFinished,
  kDuration,
  kPoints,
  kLost,
  kArchived,
  kAlerts,
  kInputs,
  kOutputs,
  kConfig,
  kSummary,
  kMetrics,
};

// What the values of a field are. kAny: whatever was logged (config, summary).
enum class FieldKind : uint8_t { kText, kTexts, kNumber, kBool, kTime, kDuration, kMetric, kAny };

enum class MetricStat : uint8_t { kLast, kFirst, kMin, kMax, kMean, kCount, kNan };
constexpr size_t kMetricStats = 7;
const char* metric_stat_name(MetricStat stat);  // "last", ...

struct FilterField {
  FilterFieldId id = FilterFieldId::kName;
  std::string key;      // of config, summary and metrics
  bool quoted = false;  // a quoted key is taken as it is; in another a dot may also stand for "/"
  MetricStat stat = MetricStat::kLast;
  FieldKind kind() const;
  std::string text() const;  // as one writes it
  bool operator==(const FilterField&) const = default;
};

struct FilterLiteral {
  enum class Kind : uint8_t { kNull, kBool, kInt, kDouble, kText, kDuration, kTime };
  Kind kind = Kind::kNull;
  int64_t integer = 0;  // kBool: 0 or 1; kInt; kDuration: µs; kTime: its first µs
  int64_t end_us = 0;   // kTime: the first µs after it, a day later for a date
  double number = 0;    // kDouble
  std::string text;     // as written, without quotes
};

enum class FilterOp : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kMatches,
  kContains,
  kIn,
  kMissing,
  kIsNan,
};
const char* filter_op_text(FilterOp op);

struct FilterNode {
  enum class Kind : uint8_t { kAnd, kOr, kNot, kTest, kWord };
  Kind kind = Kind::kTest;
  std::vector<FilterNode> children;     // kAnd, kOr: two or more; kNot: one
  FilterField field;                    // kTest
  FilterOp op = FilterOp::kEqual;       // kTest
  std::vector<FilterLiteral> literals;  // kTest: one, or those of "in"
  std::optional<Regex> regex;           // kMatches
  std::string word;                     // kWord, in lower case
};

// One run as a filter sees it. Texts as text, tags as a list of texts, numbers as int or double, times and durations in
// µs; none where the run has no such value.
class FilterRow {
 public:
  virtual ~FilterRow() = default;
  virtual std::optional<Value> field(const FilterField& field) const = 0;
  // Of `inputs` and `outputs`: the same versions, each as "project/name@<64 digits of its content>".
  virtual std::optional<Value> contents(const FilterField&) const { return std::nullopt; }
};

// Values that a test met and could not compare, such as a text where the filter has a number.
class FilterNotes {
 public:
  void add(const FilterField& field, const char* kind) { ++counts_[{field.text(), kind}]; }
  // "config.lr is text in 12 runs", by field.
  std::vector<std::string> lines() const;

 private:
  std::map<std::pair<std::string, std::string>, uint64_t> counts_;
};

// Where a filter, a sort order or a list of columns stops making sense.
struct FilterError {
  size_t offset = 0;  // bytes
  size_t column = 1;  // characters, the first is 1
  std::string message;
  std::string expected;  // may be empty
  std::string key;       // a word that is no field but may be a key of config, summary or metrics; else empty
};

class Filter {
 public:
  // kInvalid names the column and what was expected, kLimit the bound that was exceeded; `error` has the same in parts.
  // `now_us` is what "now" means. A text of blanks alone matches every run.
  static Result<Filter> parse(std::string_view text, int64_t now_us, FilterError* error = nullptr);
  const FilterNode* root() const { return root_.get(); }  // nullptr: every run matches
  bool matches(const FilterRow& row, FilterNotes* notes = nullptr) const;

 private:
  std::shared_ptr<const FilterNode> root_;
};

struct SortField {
  FilterField field;
  bool descending = false;
};

// "-metrics.val/acc.max, created": fields separated by commas, a "-" in front for the largest first. kInvalid, kLimit.
Result<std::vector<SortField>> parse_sort(std::string_view text, FilterError* error = nullptr);
// "state, config.lr". kInvalid, kLimit.
Result<std::vector<FilterField>> parse_columns(std::string_view text, FilterError* error = nullptr);

// How two values of a field are ordered for a sort: numbers (and times, bools) before texts before the rest; a missing
// value and NaN come last in both directions. Negative, 0 or positive.
int compare_for_sort(const std::optional<Value>& a, const std::optional<Value>& b, bool descending);

// The value under the key of `field` in a map of config, summary or metrics: as written, else, unless the key was
// quoted, with its dots read as slashes.
const Value* find_field_key(const Value& map, const FilterField& field);

}  // namespace tracker::internal
