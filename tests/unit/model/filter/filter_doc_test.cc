// SPDX-License-Identifier: MIT
// Goal: the reference of the filter language is true. Method: the runs and the table of examples are read out of
// docs/filter.md, and each filter is asked of each run.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "model/filter/filter.h"
#include "model/filter/filter_lexer.h"

namespace tracker::internal {
namespace {

constexpr int64_t kNoUs = 0;

std::string document() {
  std::ifstream file(TRACKER_SOURCE_DIR "/docs/filter.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int64_t time_us(const std::string& text) { return time_literal(text, kNoUs)->integer; }

// A run as the document writes it.
class DocumentRow : public FilterRow {
 public:
  explicit DocumentRow(Value run) : run_(std::move(run)) {}
  std::string id() const { return run_.text_or("id", ""); }

  std::optional<Value> field(const FilterField& field) const override {
    switch (field.id) {
      case FilterFieldId::kCreated: return Value(time_us(run_.text_or("created", "")));
      case FilterFieldId::kDuration: return Value(run_.int_or("duration", 0) * 1'000'000);
      case FilterFieldId::kConfig: return found(find_field_key(*run_.find("config"), field));
      case FilterFieldId::kMetrics: return metric(field);
      default: return found(run_.find(field.text()));
    }
  }

 private:
  static std::optional<Value> found(const Value* value) {
    if (value == nullptr) return std::nullopt;
    return *value;
  }
  std::optional<Value> metric(const FilterField& field) const {
    const Value* metrics = run_.find("metrics");
    const Value* metric = metrics == nullptr ? nullptr : find_field_key(*metrics, field);
    auto value = found(metric == nullptr ? nullptr : metric->find(metric_stat_name(field.stat)));
    if (value && value->as_text() != nullptr) return Value(std::numeric_limits<double>::quiet_NaN());
    return value;
  }

  Value run_;
};

std::vector<DocumentRow> runs_of(const std::string& text) {
  std::vector<DocumentRow> out;
  const size_t begin = text.find("```json\n") + 8;
  std::stringstream block(text.substr(begin, text.find("```", begin) - begin));
  std::string run;
  for (std::string line; std::getline(block, line);) {
    run += line;
    if (auto value = from_json(run); value.ok()) {
      out.emplace_back(std::move(*value));
      run.clear();
    }
  }
  EXPECT_EQ(run, "");
  return out;
}

struct Example {
  std::string filter, matches;
};

std::vector<Example> examples_of(const std::string& text) {
  std::vector<Example> out;
  std::stringstream table(text.substr(text.find("| filter | matches")));
  for (std::string line; std::getline(table, line);) {
    const size_t begin = line.find('`'), end = line.find("` |");
    if (line.empty() || line[0] != '|' || begin == std::string::npos || end == std::string::npos) continue;
    std::string matches = line.substr(end + 3, line.find('|', end + 3) - end - 3);
    const auto not_blank = [](char c) { return c != ' '; };
    matches.erase(matches.begin(), std::find_if(matches.begin(), matches.end(), not_blank));
    matches.erase(std::find_if(matches.rbegin(), matches.rend(), not_blank).base(), matches.end());
    out.push_back({line.substr(begin + 1, end - begin - 1), matches});
  }
  return out;
}

TEST(FilterDocumentTest, EveryExampleMatchesTheRunsItNames) {
  const std::string text = document();
  const std::vector<DocumentRow> runs = runs_of(text);
  const std::vector<Example> examples = examples_of(text);
  ASSERT_EQ(runs.size(), 4u);
  ASSERT_GT(examples.size(), 40u);
  for (const Example& example : examples) {
    const auto filter = Filter::parse(example.filter, time_us("2026-09-04T09:00"));
    ASSERT_TRUE(filter.ok()) << example.filter << ": " << filter.status().to_string();
    std::string matches;
    for (const DocumentRow& run : runs)
      if (filter->matches(run)) matches += (matches.empty() ? "" : ", ") + run.id();
    EXPECT_EQ(matches, example.matches) << example.filter;
  }
}

TEST(FilterDocumentTest, ValuesOfAnotherKindAreNamed) {
  const auto filter = Filter::parse("config.lr < 0.5", kNoUs);
  FilterNotes notes;
  for (const DocumentRow& run : runs_of(document())) (void)filter->matches(run, &notes);
  EXPECT_EQ(notes.lines(), std::vector<std::string>{"config.lr is text in 1 run"});
}

}  // namespace
}  // namespace tracker::internal
