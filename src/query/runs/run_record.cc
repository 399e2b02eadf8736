// SPDX-License-Identifier: MIT
#include "query/runs/run_record.h"

#include "query/view/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/clock.h"
#include "model/cbor_find.h"
#include "model/project_here.h"
#include "query/view/merge.h"
#include "query/view/run_state.h"

namespace tracker::internal {
namespace {

using Id = FilterFieldId;

std::optional<Value> decoded(std::optional<std::string_view> cbor) {
  if (!cbor) return std::nullopt;
  auto value = decode_cbor(*cbor);
  if (!value.ok()) return std::nullopt;
  return std::move(*value);
}

// Of "project/name:v3@<digest>" where the name ends, and where the digest begins; npos: it has none.
struct VersionParts {
  size_t colon = std::string::npos, at = std::string::npos;
  explicit VersionParts(const std::string& text) {
    const size_t slash = text.rfind('/');
    if (slash == std::string::npos) return;
    colon = text.find(':', slash);
    at = colon == std::string::npos ? colon : text.find('@', colon);
  }
};

Value each_version(const Value& list, const std::function<std::string(const std::string&)>& change) {
  if (list.as_list() == nullptr) return list;
  Value::List out;
  std::set<std::string> known;  // a run that went on in another store may say one version with the numbers of both
  for (const Value& each : *list.as_list()) {
    Value changed = each.as_text() != nullptr ? Value(change(*each.as_text())) : each;
    if (changed.as_text() == nullptr || known.insert(*changed.as_text()).second) out.push_back(std::move(changed));
  }
  return Value(std::move(out));
}

Value named(const VersionNames& names, const Value& list) {
  return each_version(list, [&names](const std::string& text) {
    const VersionParts parts(text);
    if (parts.at == std::string::npos) return text;
    return names ? names(text) : text.substr(0, parts.at);
  });
}

std::string with_content(const std::string& text) {
  const VersionParts parts(text);
  return parts.at == std::string::npos ? text : text.substr(0, parts.colon) + text.substr(parts.at);
}

std::optional<Value> text_at(const Statement& row, int column) {
  const std::string_view text = row.bytes_at(column);
  if (text.empty()) return std::nullopt;
  return Value(text);
}

}  // namespace

void name_versions(const VersionNames& names, Value* attributes) {
  for (const char* key : {"inputs", "outputs"})
    if (const Value* list = attributes->find(key); list != nullptr) attributes->set(key, named(names, *list));
}

bool is_in_documents(const FilterField& field) {
  return field.id == Id::kConfig || field.id == Id::kSummary || field.id == Id::kMetrics;
}

std::optional<std::string_view> CatalogRow::entry(const FilterField& field) const {
  if (!with_documents_) return std::nullopt;
  const int column = field.id == Id::kConfig    ? kColumnConfig
                     : field.id == Id::kSummary ? kColumnSummary
                                                : kColumnMetrics;
  const std::string_view document = row_.bytes_at(column);
  auto found = cbor_path(document, field.key);
  if (!found && !field.quoted && field.key.find('.') != std::string::npos) {
    std::string path = field.key;
    std::replace(path.begin(), path.end(), '.', '/');
    found = cbor_path(document, path);
  }
  return found;
}

std::optional<Value> CatalogRow::keyed(const FilterField& field) const {
  const auto found = entry(field);
  if (!found || field.id != Id::kMetrics) return decoded(found);
  auto value = decoded(cbor_element(*found, static_cast<size_t>(field.stat)));
  return value && value->is_null() ? std::nullopt : std::move(value);  // nothing that is not shadowed or finite
}

std::optional<Value> CatalogRow::attribute(const FilterField& field) const {
  const std::string_view key = field.id == Id::kTags      ? "tags"
                               : field.id == Id::kNotes   ? "notes"
                               : field.id == Id::kGroup   ? "group"
                               : field.id == Id::kInputs  ? "inputs"
                               : field.id == Id::kOutputs ? "outputs"
                               : field.id == Id::kAlerts  ? kAlertCount
                                                          : "job_type";
  auto value = decoded(cbor_entry(row_.bytes_at(kColumnAttributes), key));
  const bool is_versions = field.id == Id::kInputs || field.id == Id::kOutputs;
  return value && is_versions ? named(names_, *value) : std::move(value);
}

std::optional<Value> CatalogRow::contents(const FilterField& field) const {
  const auto list =
      decoded(cbor_entry(row_.bytes_at(kColumnAttributes), field.id == Id::kInputs ? "inputs" : "outputs"));
  return list ? std::optional(each_version(*list, with_content)) : std::nullopt;
}

std::optional<Value> CatalogRow::field(const FilterField& field) const {
  switch (field.id) {
    case Id::kProject: return text_at(row_, kColumnProject);
    case Id::kId: return text_at(row_, kColumnId);
    case Id::kUid: return text_at(row_, kColumnUid);
    case Id::kName: return text_at(row_, kColumnName);
    case Id::kState: return Value(run_state_name(static_cast<RunState>(row_.int_at(kColumnState))));
    case Id::kHost: return text_at(row_, kColumnHost);
    case Id::kTags:
    case Id::kNotes:
    case Id::kGroup:
    case Id::kInputs:
    case Id::kOutputs:
    case Id::kJobType: return attribute(field);
    case Id::kCreated: return Value(row_.int_at(kColumnCreated));
    case Id::kFinished:
      if (row_.is_null(kColumnEnded)) return std::nullopt;
      return Value(row_.int_at(kColumnEnded));
    case Id::kDuration:
      return Value((row_.is_null(kColumnEnded) ? now_us_ : row_.int_at(kColumnEnded)) - row_.int_at(kColumnCreated));
    case Id::kPoints: return Value(row_.int_at(kColumnPoints));
    case Id::kLost: return Value(row_.int_at(kColumnDropped));
    case Id::kArchived: {
      const auto value = decoded(cbor_entry(row_.bytes_at(kColumnAttributes), "archived"));
      return Value(value && value->as_bool() != nullptr && *value->as_bool());
    }
    case Id::kAlerts: return attribute(field).value_or(Value(0));
    case Id::kConfig:
    case Id::kSummary:
    case Id::kMetrics: return keyed(field);
  }
  return std::nullopt;
}

}  // namespace tracker::internal
