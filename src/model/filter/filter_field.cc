// SPDX-License-Identifier: MIT
#include "model/filter/filter_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/did_you_mean.h"
#include "model/key.h"

namespace tracker::internal {
namespace {

using Id = FilterFieldId;

struct FieldName {
  std::string_view name;
  Id id;
  FieldKind kind;
};
constexpr std::array kFields{
    FieldName{"project", Id::kProject, FieldKind::kText},
    FieldName{"id", Id::kId, FieldKind::kText},
    FieldName{"uid", Id::kUid, FieldKind::kText},
    FieldName{"name", Id::kName, FieldKind::kText},
    FieldName{"state", Id::kState, FieldKind::kText},
    FieldName{"tags", Id::kTags, FieldKind::kTexts},
    FieldName{"group", Id::kGroup, FieldKind::kText},
    FieldName{"job_type", Id::kJobType, FieldKind::kText},
    FieldName{"notes", Id::kNotes, FieldKind::kText},
    FieldName{"host", Id::kHost, FieldKind::kText},
    FieldName{"created", Id::kCreated, FieldKind::kTime},
    FieldName{"finished", Id::kFinished, FieldKind::kTime},
    FieldName{"duration", Id::kDuration, FieldKind::kDuration},
    FieldName{"points", Id::kPoints, FieldKind::kNumber},
    FieldName{"lost", Id::kLost, FieldKind::kNumber},
    FieldName{"archived", Id::kArchived, FieldKind::kBool},
    FieldName{"alerts", Id::kAlerts, FieldKind::kNumber},
    FieldName{"inputs", Id::kInputs, FieldKind::kTexts},
    FieldName{"outputs", Id::kOutputs, FieldKind::kTexts},
    FieldName{"config", Id::kConfig, FieldKind::kAny},
    FieldName{"summary", Id::kSummary, FieldKind::kAny},
    FieldName{"metrics", Id::kMetrics, FieldKind::kMetric},
};

constexpr std::array<const char*, kMetricStats> kStats{"last", "first", "min", "max", "mean", "count", "nan"};

bool has_key(Id id) { return id == Id::kConfig || id == Id::kSummary || id == Id::kMetrics; }

const FieldName& entry_of(Id id) {
  return *std::find_if(kFields.begin(), kFields.end(), [id](const FieldName& field) { return field.id == id; });
}

std::string all_names() {
  std::string out;
  for (const FieldName& field : kFields)
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", field.name, has_key(field.id) ? ".KEY" : "");
  return out;
}

std::optional<MetricStat> stat_of(std::string_view name) {
  const auto found = std::find(kStats.begin(), kStats.end(), name);
  if (found == kStats.end()) return std::nullopt;
  return static_cast<MetricStat>(found - kStats.begin());
}

// The characters that a key without quotes may have.
bool is_plain_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
           c == '-' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
  });
}

// What follows a quoted key: nothing, or of a metric the statistic.
bool take_suffix(const FilterToken& token, FilterField* field) {
  if (token.suffix.empty()) return true;
  if (field->id != Id::kMetrics || token.suffix[0] != '.') return false;
  const auto stat = stat_of(std::string_view(token.suffix).substr(1));
  if (stat) field->stat = *stat;
  return stat.has_value();
}

// "val/acc.max" is the maximum of val/acc; a metric whose name ends so is written in quotes.
void split_stat(FilterField* field) {
  const size_t dot = field->key.rfind('.');
  if (dot == std::string::npos || dot == 0) return;
  const auto stat = stat_of(std::string_view(field->key).substr(dot + 1));
  if (!stat) return;
  field->stat = *stat;
  field->key.resize(dot);
}

bool take_key(const FilterToken& token, std::string_view rest, FilterField* field, std::string* problem) {
  if (token.key) {
    field->quoted = true;
    field->key = *token.key;
    if (!rest.empty() || !take_suffix(token, field)) {
      *problem = fmt::format("\"{}\" after a quoted key", rest.empty() ? token.suffix : std::string(rest));
      return false;
    }
  } else {
    field->key = rest;
    if (field->id == Id::kMetrics) split_stat(field);
    if (!is_plain_key(field->key) && !field->key.empty()) {
      *problem = fmt::format("the key {} has characters that need quotes", field->key);
      return false;
    }
  }
  if (field->key.empty() || field->key.size() > kKeyBytesMax) {
    *problem = field->key.empty() ? "a key is missing" : fmt::format("a key of {} bytes", field->key.size());
    return false;
  }
  return true;
}

// The fields that a word which is none may stand for: one that is spelt nearly so, or the word as a key.
std::vector<std::string> meant_by(std::string_view text, std::string* key) {
  const size_t dot = text.find('.');
  std::vector<std::string> names, out;
  for (const FieldName& field : kFields)
    if (dot == std::string_view::npos ? !has_key(field.id) : has_key(field.id)) names.emplace_back(field.name);
  for (const std::string& near : close_names(text.substr(0, dot), names))
    out.push_back(dot == std::string_view::npos ? near : near + std::string(text.substr(dot)));
  if (!is_plain_key(text) || (dot != std::string_view::npos && !out.empty())) return out;
  *key = text;
  for (const char* name : {"config", "summary", "metrics"}) out.push_back(fmt::format("{}.{}", name, text));
  return out;
}

}  // namespace

const char* metric_stat_name(MetricStat stat) { return kStats[static_cast<size_t>(stat)]; }

FieldKind FilterField::kind() const { return entry_of(id).kind; }

std::string FilterField::text() const {
  std::string out(entry_of(id).name);
  if (!has_key(id)) return out;
  FilterField as_plain{id, key, false, MetricStat::kLast};
  if (id == Id::kMetrics) split_stat(&as_plain);
  out += '.';
  if (!quoted && is_plain_key(key) && as_plain.key == key) {
    out += key;
  } else {
    out += '"';
    for (const char c : key) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  if (stat != MetricStat::kLast) out += fmt::format(".{}", metric_stat_name(stat));
  return out;
}

std::optional<FilterField> field_of_token(const FilterToken& token, FilterError* error) {
  const std::string_view text = token.text;
  const size_t dot = text.find('.');
  const std::string_view name = text.substr(0, dot);
  const auto found =
      std::find_if(kFields.begin(), kFields.end(), [name](const FieldName& field) { return field.name == name; });
  if (token.kind != FilterToken::Kind::kWord || found == kFields.end() ||
      (dot != std::string_view::npos && !has_key(found->id))) {
    const std::string meant = did_you_mean(meant_by(text, &error->key));
    error->message = fmt::format("{} is no field{}", token_name(token), meant);
    error->expected = meant.empty() ? "one of " + all_names() : "";
    return std::nullopt;
  }
  FilterField field;
  field.id = found->id;
  if (!has_key(field.id)) return field;
  error->expected = fmt::format("{0}.KEY, or {0}.\"KEY\" with other characters", name);
  if (dot == std::string_view::npos) {
    error->message = fmt::format("{} without a key", name);
    return std::nullopt;
  }
  if (!take_key(token, text.substr(dot + 1), &field, &error->message)) return std::nullopt;
  return field;
}

}  // namespace tracker::internal
