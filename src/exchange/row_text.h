// SPDX-License-Identifier: MIT
// The text of single rows and fields of an export. Pure functions. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exchange/export.h"
#include "model/number.h"

namespace tracker::internal {

constexpr std::string_view kCsvLongHeader = "metric,step,time,value,rank,attempt\n";

struct ExportRow {
  std::string_view name_text;  // the metric's name, already quoted for the format
  bool has_step = true;
  int64_t step = 0;
  int64_t time_us = 0;
  int64_t rank = 0, attempt = 1;
  std::string_view value_text;  // likewise
};

// RFC 4180: quoted when it holds a comma, a quote, a line end, or a blank at either end; quotes are doubled.
std::string csv_field(std::string_view text);
// A text among numbers: quoted also where it could be read as one ("007", "nan"). csv_import.cc takes it for a text.
std::string csv_text(std::string_view text);
std::string json_text(std::string_view text);
// A number for JSON: NaN and infinities as "NaN", "Infinity", "-Infinity", since JSON has none.
std::string json_number(ValueType type, uint64_t bits);
// Seconds since 1970 with all microseconds: "1700000000.000001".
void append_seconds(int64_t time_us, std::string* out);

void append_row(ExportFormat format, const ExportRow& row, std::string* out);

}  // namespace tracker::internal
