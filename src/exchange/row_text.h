// SPDX-License-Identifier: MIT
// The text of single rows and fields of an export. Pure functions. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "exchange/export.h"
#include "model/number.h"

namespace tracker::internal {

constexpr std::string_view kCsvLongHeader = "metric,step,time,value,rank,attempt\n";

struct ExportRow {
  std::string_view name_text;  // the metric's name, quoted for the format
  bool has_step = true;
  int64_t step = 0;
  int64_t time_us = 0;
  int64_t rank = 0, attempt = 1;
  std::string_view value_text;  // likewise
  std::string_view more = {};   // further members of a JSON line, each with a comma before it
};

// RFC 4180: quoted if it has a comma, a quote, a line end, or a blank at either end; quotes are doubled.
std::string csv_field(std::string_view text);
// A text in a column of numbers: quoted also if it could be read as a number ("007", "nan"). csv_import.cc reads it as
// a text.
std::string csv_text(std::string_view text);
std::string json_text(std::string_view text);
// A number for JSON: NaN and infinities as "NaN", "Infinity", "-Infinity", since JSON has none.
std::string json_number(ValueType type, uint64_t bits);
// What the text of a number does not show: its type if it is not `declared`, the bits of an unusual NaN and of floats
// of 16 bits. For a text: that it is one, if it could be a number.
std::string json_more(ValueType type, uint64_t bits, std::optional<ValueType> declared);
std::string_view json_text_more(std::string_view text);
// Seconds since 1970 with all microseconds: "1700000000.000001".
void append_seconds(int64_t time_us, std::string* out);

void append_row(ExportFormat format, const ExportRow& row, std::string* out);

}  // namespace tracker::internal
