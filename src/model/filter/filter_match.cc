// SPDX-License-Identifier: MIT
// What a filter says of a run. docs/filter.md is the reference of these rules.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>

#include "model/filter/filter.h"
#include "model/filter/filter_lexer.h"

namespace tracker::internal {
namespace {

using Literal = FilterLiteral::Kind;

// What a test of one value says: nothing comes of a value of another kind, which the notes then name.
enum class Verdict : uint8_t { kFalse, kTrue, kOtherKind };

constexpr int64_t kMatchSecondUs = 1'000'000;

const char* kind_name(const Value& value) {
  if (value.is_null()) return "null";
  if (value.as_bool() != nullptr) return "true or false";
  if (value.is_number()) return "a number";
  if (value.as_text() != nullptr) return "text";
  return value.is_map() ? "a map" : "a list";
}

// An int against a double without rounding either: 2^53 + 1 is not 2^53.
std::partial_ordering compare(int64_t a, double b) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kTwo63) return std::partial_ordering::less;
  if (b < -kTwo63) return std::partial_ordering::greater;
  const auto whole = static_cast<int64_t>(b);
  if (a != whole) return a <=> whole;
  return 0.0 <=> (b - static_cast<double>(whole));
}

std::partial_ordering reversed(std::partial_ordering order) { return 0 <=> order; }

struct Number {
  bool is_int = true;
  int64_t integer = 0;
  double real = 0;
};
Number number(int64_t value) { return {true, value, 0}; }
Number number(double value) { return {false, 0, value}; }
// Of a value that is_number(): true is 1.
Number number(const Value& value) {
  if (const bool* flag = value.as_bool()) return number(int64_t{*flag});
  if (const int64_t* integer = value.as_int()) return number(*integer);
  return number(*value.as_double());
}

std::partial_ordering compare_numbers(const Number& a, const Number& b) {
  if (a.is_int && b.is_int) return a.integer <=> b.integer;
  if (a.is_int) return compare(a.integer, b.real);
  if (b.is_int) return reversed(compare(b.integer, a.real));
  return a.real <=> b.real;
}

bool holds(FilterOp op, std::partial_ordering order) {
  if (order == std::partial_ordering::unordered) return false;  // NaN equals nothing, and is not unequal either
  switch (op) {
    case FilterOp::kEqual:
    case FilterOp::kIn:
    case FilterOp::kContains: return order == 0;
    case FilterOp::kNotEqual: return order != 0;
    case FilterOp::kLess: return order < 0;
    case FilterOp::kLessEqual: return order <= 0;
    case FilterOp::kGreater: return order > 0;
    case FilterOp::kGreaterEqual: return order >= 0;
    default: return false;
  }
}

Verdict verdict(bool is_true) { return is_true ? Verdict::kTrue : Verdict::kFalse; }

// A date is all of its day: created = 2026-09-01 holds from the first to the last µs, > begins after it.
Verdict test_time(FilterOp op, int64_t time, const FilterLiteral& literal) {
  const auto order = time < literal.integer   ? std::partial_ordering::less
                     : time >= literal.end_us ? std::partial_ordering::greater
                                              : std::partial_ordering::equivalent;
  return verdict(holds(op, order));
}

Verdict test_number(FieldKind kind, FilterOp op, const Value& value, const FilterLiteral& literal) {
  if (value.as_bool() != nullptr && literal.kind != Literal::kBool && kind != FieldKind::kMetric)
    return Verdict::kOtherKind;
  const Number own = number(value);
  const auto seconds = [](int64_t us) { return number(static_cast<double>(us) / kMatchSecondUs); };
  switch (literal.kind) {
    case Literal::kInt:
    case Literal::kDouble: {
      const Number wanted = literal.kind == Literal::kInt ? number(literal.integer) : number(literal.number);
      return verdict(holds(op, compare_numbers(kind == FieldKind::kDuration ? seconds(own.integer) : own, wanted)));
    }
    case Literal::kDuration: {  // a number of seconds, where the field is not a duration itself
      const Number wanted = kind == FieldKind::kDuration ? number(literal.integer) : seconds(literal.integer);
      return verdict(holds(op, compare_numbers(own, wanted)));
    }
    case Literal::kBool:
      if (value.as_bool() == nullptr && kind != FieldKind::kMetric) return Verdict::kOtherKind;
      return verdict(holds(op, compare_numbers(own, number(literal.integer))));
    default: return Verdict::kOtherKind;
  }
}

// Of "project/name:v3", or "project/name@9f86d081ab12", what a text names that leaves out the project, the version or
// both. A project may hold "@".
std::string_view named_part(std::string_view version, std::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) version.remove_prefix(version.rfind('/') + 1);
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (name.find_first_of(":@") == std::string_view::npos) version = version.substr(0, version.find_last_of(":@"));
  return version;
}

bool is_version(const FilterField& field) {
  return field.id == FilterFieldId::kInputs || field.id == FilterFieldId::kOutputs;
}

// "data@9f86d081ab12": by 6 or more digits of the content, as in a reference.
bool names_content(const FilterLiteral& literal) {
  constexpr size_t kDigitsMin = 6;
  const size_t at = literal.text.rfind('@');
  return literal.kind == Literal::kText && at != std::string::npos && literal.text.size() - at > kDigitsMin &&
         literal.text.find_first_not_of("0123456789abcdef", at + 1) == std::string::npos;
}

bool has_no_number(const FilterLiteral& literal) {
  const size_t slash = literal.text.rfind('/');
  return literal.text.find(':', slash == std::string::npos ? 0 : slash) == std::string::npos;
}

// What is said of a version as a whole, as far as the text names it.
bool is_whole(FilterOp op) {
  return op == FilterOp::kEqual || op == FilterOp::kNotEqual || op == FilterOp::kIn || op == FilterOp::kContains ||
         op == FilterOp::kMissing;
}

bool is_order(FilterOp op) {
  return op == FilterOp::kLess || op == FilterOp::kLessEqual || op == FilterOp::kGreater ||
         op == FilterOp::kGreaterEqual;
}

Verdict test_text(const FilterNode& node, const std::string& text, const FilterLiteral& literal) {
  if (node.regex) return verdict(node.regex->search(text));
  // Times and durations are words of the filter, no kinds of a config: against a text they are what was written.
  if (literal.kind != Literal::kText && literal.kind != Literal::kTime && literal.kind != Literal::kDuration)
    return Verdict::kOtherKind;
  if (literal.kind == Literal::kTime && literal.text.starts_with("now") && is_order(node.op))
    return Verdict::kOtherKind;
  if (node.op == FilterOp::kContains) return verdict(text.find(literal.text) != std::string::npos);
  const bool is_equality = node.op == FilterOp::kEqual || node.op == FilterOp::kIn;
  if (is_version(node.field) && is_equality) {
    const std::string_view name = named_part(text, literal.text);
    return verdict(name == literal.text || (names_content(literal) && name.starts_with(literal.text)));
  }
  return verdict(holds(node.op, text <=> literal.text));
}

Verdict test_value(const FilterNode& node, const Value& value, const FilterLiteral& literal);

// `op` holds for a list when it holds for an element; != when = holds for none. `contains` is membership here.
Verdict test_list(const FilterNode& node, const Value::List& list, const FilterLiteral& literal) {
  FilterNode element;
  element.field = node.field;
  element.regex = node.regex;
  element.op = node.op == FilterOp::kContains || node.op == FilterOp::kNotEqual ? FilterOp::kEqual : node.op;
  const bool any = std::any_of(list.begin(), list.end(), [&](const Value& value) {
    return !value.is_map() && value.as_list() == nullptr && test_value(element, value, literal) == Verdict::kTrue;
  });
  return verdict(node.op == FilterOp::kNotEqual ? !any : any);
}

Verdict test_value(const FilterNode& node, const Value& value, const FilterLiteral& literal) {
  if (literal.kind == Literal::kNull) return verdict(value.is_null() == (node.op != FilterOp::kNotEqual));
  if (value.is_null()) return Verdict::kFalse;
  const FieldKind kind = node.field.kind();
  if (kind == FieldKind::kTime) return test_time(node.op, *value.as_int(), literal);
  if (const Value::List* list = value.as_list()) return test_list(node, *list, literal);
  if (const std::string* text = value.as_text()) return test_text(node, *text, literal);
  if (value.is_number() && !node.regex && node.op != FilterOp::kContains)
    return test_number(kind, node.op, value, literal);
  return value.is_number() && node.op == FilterOp::kContains && literal.kind != Literal::kText ? Verdict::kFalse
                                                                                               : Verdict::kOtherKind;
}

bool test(const FilterNode& node, const FilterRow& row, FilterNotes* notes) {
  // Numbers of versions are looked up, so only where the filter needs them.
  const auto contents = is_version(node.field) && is_whole(node.op) ? row.contents(node.field) : std::nullopt;
  const bool by_content = contents && std::all_of(node.literals.begin(), node.literals.end(), has_no_number);
  const std::optional<Value> value = by_content ? contents : row.field(node.field);
  if (node.op == FilterOp::kMissing) return !value.has_value();
  if (!value) return false;
  if (node.op == FilterOp::kIsNan) return value->as_double() != nullptr && std::isnan(*value->as_double());
  bool other_kind = false;
  for (const FilterLiteral& literal : node.literals) {
    const Verdict found = test_value(node, contents && has_no_number(literal) ? *contents : *value, literal);
    if (found == Verdict::kTrue) return true;
    other_kind = other_kind || found == Verdict::kOtherKind;
  }
  if (other_kind && notes != nullptr) notes->add(node.field, kind_name(*value));
  return false;
}

// A bare word: part of the name, the id or a tag, whatever the case of A-Z.
bool has_word(const std::string& word, const FilterRow& row) {
  const auto has = [&word](const Value& value) {
    const std::string* text = value.as_text();
    return text != nullptr && ascii_lower(*text).find(word) != std::string::npos;
  };
  for (const FilterFieldId id : {FilterFieldId::kName, FilterFieldId::kId, FilterFieldId::kTags}) {
    FilterField field;
    field.id = id;
    const std::optional<Value> value = row.field(field);
    if (!value) continue;
    const Value::List* list = value->as_list();
    if (list != nullptr ? std::any_of(list->begin(), list->end(), has) : has(*value)) return true;
  }
  return false;
}

bool node_matches(const FilterNode& node, const FilterRow& row, FilterNotes* notes) {
  const auto child = [&](const FilterNode& each) { return node_matches(each, row, notes); };
  switch (node.kind) {
    case FilterNode::Kind::kAnd: return std::all_of(node.children.begin(), node.children.end(), child);
    case FilterNode::Kind::kOr: return std::any_of(node.children.begin(), node.children.end(), child);
    case FilterNode::Kind::kNot: return !child(node.children.front());
    case FilterNode::Kind::kWord: return has_word(node.word, row);
    case FilterNode::Kind::kTest: return test(node, row, notes);
  }
  return false;
}

// Numbers, times and bools, then texts, then what has no order, then nothing and NaN.
int sort_class(const std::optional<Value>& value) {
  constexpr int kNothing = 3;
  if (!value || value->is_null()) return kNothing;
  if (value->as_double() != nullptr && std::isnan(*value->as_double())) return kNothing;
  if (value->is_number()) return 0;
  return value->as_text() != nullptr ? 1 : 2;
}

}  // namespace

bool Filter::matches(const FilterRow& row, FilterNotes* notes) const {
  return root_ == nullptr || node_matches(*root_, row, notes);
}

std::vector<std::string> FilterNotes::lines() const {
  std::vector<std::string> out;
  for (const auto& [what, count] : counts_)
    out.push_back(fmt::format("{} is {} in {} run{}", what.first, what.second, count, count == 1 ? "" : "s"));
  return out;
}

int compare_for_sort(const std::optional<Value>& a, const std::optional<Value>& b, bool descending) {
  const int class_a = sort_class(a), class_b = sort_class(b);
  if (class_a != class_b) return class_a - class_b;
  std::partial_ordering order = std::partial_ordering::equivalent;
  if (class_a == 0) order = compare_numbers(number(*a), number(*b));
  else if (class_a == 1) order = *a->as_text() <=> *b->as_text();
  else if (class_a == 2) order = to_json(*a) <=> to_json(*b);
  const int sign = order < 0 ? -1 : order > 0 ? 1 : 0;
  return descending ? -sign : sign;
}

const Value* find_field_key(const Value& map, const FilterField& field) {
  const Value* found = map.find(field.key);
  if (found == nullptr) found = map.find_path(field.key);
  if (found != nullptr || field.quoted || field.key.find('.') == std::string::npos) return found;
  std::string path = field.key;
  std::replace(path.begin(), path.end(), '.', '/');
  found = map.find(path);
  return found != nullptr ? found : map.find_path(path);
}

}  // namespace tracker::internal
