// SPDX-License-Identifier: MIT
// Goal: no text makes the filter parser crash or go on for long; an error has a place within the text; an accepted
// filter gives an answer for any run; a field is read back from the way it is written.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/cbor_find.h"
#include "model/filter/filter.h"

using namespace tracker::internal;

namespace {

// Gives every field a value of a kind that goes round with each question.
class AnyRow : public FilterRow {
 public:
  std::optional<Value> field(const FilterField& field) const override {
    const int turn = turn_++;
    switch (field.kind()) {
      case FieldKind::kTime:
      case FieldKind::kDuration: return Value(int64_t{turn} << 20);
      case FieldKind::kNumber: return Value(turn);
      case FieldKind::kBool: return Value(turn % 2 == 0);
      case FieldKind::kText: return Value("brisk-otter");
      case FieldKind::kTexts: return Value(Value::List{"a", "b"});
      default: break;
    }
    switch (turn % 8) {
      case 0: return std::nullopt;
      case 1: return Value();
      case 2: return Value(true);
      case 3: return Value(std::nan(""));
      case 4: return Value(1e300);
      case 5: return Value("text");
      case 6: return Value(Value::List{1, "a", nullptr, Value::List{2}});
      default: return Value(Value::Map{{"a", 1}});
    }
  }

 private:
  mutable int turn_ = 0;
};

void check_error(std::string_view text, const FilterError& error, const Status& status) {
  if (error.offset > text.size() || error.column == 0 || error.column > text.size() + 1) std::abort();
  if (status.message().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  FilterError error;
  const auto filter = Filter::parse(text, 1'700'000'000'000'000, &error);
  if (filter.ok()) {
    FilterNotes notes;
    (void)filter->matches(AnyRow(), &notes);
    (void)notes.lines();
  } else {
    check_error(text, error, filter.status());
  }
  if (const auto sort = parse_sort(text, &error); !sort.ok()) check_error(text, error, sort.status());
  const auto columns = parse_columns(text, &error);
  if (!columns.ok()) check_error(text, error, columns.status());
  else
    for (const FilterField& field : *columns) {
      const auto again = parse_columns(field.text());
      if (!again.ok() || again->front().text() != field.text() || !(again->front().key == field.key)) std::abort();
    }
  (void)cbor_path(text, "a/b");
  (void)cbor_element(text, 2);
  return 0;
}
