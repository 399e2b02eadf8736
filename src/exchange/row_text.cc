// SPDX-License-Identifier: MIT
#include "exchange/row_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>

#include "exchange/csv_value.h"
#include "model/value.h"

namespace tracker::internal {
namespace {

void append_csv(const ExportRow& row, std::string* out) {
  out->append(row.name_text);
  out->push_back(',');
  if (row.has_step) fmt::format_to(std::back_inserter(*out), "{}", row.step);
  out->push_back(',');
  append_seconds(row.time_us, out);
  out->push_back(',');
  out->append(row.value_text);
  fmt::format_to(std::back_inserter(*out), ",{},{}\n", row.rank, row.attempt);
}

void append_jsonl(const ExportRow& row, std::string* out) {
  out->append("{\"metric\":");
  out->append(row.name_text);
  if (row.has_step) fmt::format_to(std::back_inserter(*out), ",\"step\":{}", row.step);
  else out->append(",\"step\":null");
  out->append(",\"time\":");
  append_seconds(row.time_us, out);
  out->append(",\"value\":");
  out->append(row.value_text);
  out->append(row.more);
  fmt::format_to(std::back_inserter(*out), ",\"rank\":{},\"attempt\":{}}}\n", row.rank, row.attempt);
}

bool is_blank_cell(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::string csv_field(std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos &&
                     (text.empty() || (!is_blank_cell(text.front()) && !is_blank_cell(text.back())));
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

std::string csv_text(std::string_view text) {
  return csv_number(text) ? fmt::format("\"{}\"", text) : csv_field(text);  // a number holds no quote
}

std::string json_text(std::string_view text) { return to_json(Value(text)); }

std::string json_number(ValueType type, uint64_t bits) {
  const double value = to_double(type, bits);
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return number_text(type, bits);
}

std::string json_more(ValueType type, uint64_t bits, std::optional<ValueType> declared) {
  std::string out;
  if (declared && *declared != type) out = fmt::format(",\"type\":\"{}\"", value_type_name(type));
  const bool is_float = type == ValueType::kFloat64 || type == ValueType::kFloat32;
  const uint64_t nan = type == ValueType::kFloat64 ? bits_of(std::numeric_limits<double>::quiet_NaN())
                                                   : bits_of(std::numeric_limits<float>::quiet_NaN());
  const bool is_half = type == ValueType::kFloat16 || type == ValueType::kBFloat16;
  if (is_half || (is_float && std::isnan(to_double(type, bits)) && bits != nan))
    out += fmt::format(",\"bits\":\"{:#x}\"", bits);
  return out;
}

std::string_view json_text_more(std::string_view text) {
  const bool is_special = text == "NaN" || text == "Infinity" || text == "-Infinity";
  return is_special ? ",\"type\":\"text\"" : "";
}

void append_seconds(int64_t time_us, std::string* out) {
  const bool negative = time_us < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(time_us) : static_cast<uint64_t>(time_us);
  fmt::format_to(std::back_inserter(*out), "{}{}.{:06}", negative ? "-" : "", magnitude / 1'000'000,
                 magnitude % 1'000'000);
}

void append_row(ExportFormat format, const ExportRow& row, std::string* out) {
  if (format == ExportFormat::kCsv) append_csv(row, out);
  else append_jsonl(row, out);
}

}  // namespace tracker::internal
