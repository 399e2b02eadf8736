// SPDX-License-Identifier: MIT
#include "query/runs/filter_sql.h"

#include <fmt/format.h>

#include <cmath>

#include "model/records.h"

namespace tracker::internal {
namespace {

using Id = FilterFieldId;
using Literal = FilterLiteral::Kind;

constexpr double kSecondUs = 1e6;
constexpr double kExactIntMax = 9007199254740992.0;  // 2^53

// SQLite parses with a stack of 100 (each parenthesis of ours takes up to three of it) and refuses expressions of a
// depth of 1,000 (a chain of n operators is n deep). Both are set when it is compiled; filters may be larger.
constexpr int kParenthesesMax = 20;
constexpr int kOperatorsMax = 800;

// Whether SQLite takes the condition. What it does not take is left to the exact test.
bool fits(std::string_view condition) {
  int depth = 0, operators = 0;
  for (size_t i = 0; i < condition.size(); ++i) {
    const std::string_view rest = condition.substr(i);
    if (rest.starts_with(" OR ") || rest.starts_with(" AND ")) ++operators;
    if (rest.front() == '(' && ++depth > kParenthesesMax) return false;
    if (rest.front() == ')') --depth;
  }
  return operators <= kOperatorsMax;
}

void append(FilterSql* to, const FilterSql& part) {
  to->condition += part.condition;
  to->parameters.insert(to->parameters.end(), part.parameters.begin(), part.parameters.end());
}

// `column` <op> ?, false where the column is NULL.
FilterSql comparison(const std::string& column, std::string_view op, SqlParameter value) {
  return {fmt::format("coalesce({} {} ?, 0)", column, op), {std::move(value)}, true};
}

FilterSql text_test(const std::string& column, FilterOp op, const FilterLiteral& literal) {
  if (op == FilterOp::kMatches) return {};
  if (op == FilterOp::kContains) return {fmt::format("coalesce(instr({}, ?) > 0, 0)", column), {literal.text}, true};
  return comparison(column, op == FilterOp::kIn ? "=" : filter_op_text(op), literal.text);
}

FilterSql state_test(FilterOp op, const FilterLiteral& literal) {
  if (op != FilterOp::kEqual && op != FilterOp::kNotEqual && op != FilterOp::kIn) return {};  // by name, not number
  for (int state = 0; state <= static_cast<int>(RunState::kDamaged); ++state)
    if (literal.text == run_state_name(static_cast<RunState>(state)))
      return comparison("state", op == FilterOp::kNotEqual ? "!=" : "=", int64_t{state});
  return {};
}

// A time stands for [integer, end_us).
FilterSql time_test(const std::string& column, FilterOp op, const FilterLiteral& literal) {
  switch (op) {
    case FilterOp::kLess: return comparison(column, "<", literal.integer);
    case FilterOp::kLessEqual: return comparison(column, "<", literal.end_us);
    case FilterOp::kGreater: return comparison(column, ">=", literal.end_us);
    case FilterOp::kGreaterEqual: return comparison(column, ">=", literal.integer);
    default: break;
  }
  const char* inverse = op == FilterOp::kNotEqual ? "NOT " : "";
  return {fmt::format("coalesce({}({} >= ? AND {} < ?), 0)", inverse, column, column),
          {literal.integer, literal.end_us},
          true};
}

FilterSql number_test(const std::string& column, FilterOp op, const FilterLiteral& literal, double unit) {
  int64_t wanted = literal.integer;
  if (literal.kind != Literal::kDuration) {
    // In the column's unit it must be a whole number that doubles hold exactly; others are left to the exact test.
    const double value = (literal.kind == Literal::kInt ? static_cast<double>(wanted) : literal.number) * unit;
    if (!(std::fabs(value) < kExactIntMax) || value != std::floor(value)) return {};
    wanted = static_cast<int64_t>(value);
  }
  return comparison(column, op == FilterOp::kIn ? "=" : filter_op_text(op), wanted);
}

FilterSql literal_test(const FilterNode& node, const FilterLiteral& literal, const std::string& column) {
  switch (node.field.kind()) {
    case FieldKind::kText:
      return node.field.id == Id::kState ? state_test(node.op, literal) : text_test(column, node.op, literal);
    case FieldKind::kTime: return time_test(column, node.op, literal);
    case FieldKind::kDuration: return number_test(column, node.op, literal, kSecondUs);
    case FieldKind::kNumber: return number_test(column, node.op, literal, 1);
    case FieldKind::kBool: return comparison(column, node.op == FilterOp::kNotEqual ? "!=" : "=", literal.integer);
    default: return {};
  }
}

FilterSql test(const FilterNode& node, int64_t now_us) {
  const std::string column = sql_of_field(node.field.id, now_us);
  if (column.empty() || node.op == FilterOp::kIsNan) return {};
  if (node.op == FilterOp::kMissing) return {fmt::format("({} IS NULL)", column), {}, true};
  FilterSql out{"(", {}, true};
  for (const FilterLiteral& literal : node.literals) {
    const FilterSql part = literal_test(node, literal, column);
    if (part.condition.empty()) return {};
    if (out.condition.size() > 1) out.condition += " OR ";
    append(&out, part);
  }
  out.condition += ')';
  return out;
}

FilterSql compile(const FilterNode& node, int64_t now_us);

// `and` takes what its parts can say; `or` needs all of them.
FilterSql joined(const FilterNode& node, int64_t now_us) {
  const bool is_and = node.kind == FilterNode::Kind::kAnd;
  FilterSql out{"", {}, true};
  for (const FilterNode& child : node.children) {
    FilterSql part = compile(child, now_us);
    if (!fits(part.condition)) part = {};
    out.exact = out.exact && part.exact;
    if (part.condition.empty() && !is_and) return {};
    if (part.condition.empty()) continue;
    if (!out.condition.empty()) out.condition += is_and ? " AND " : " OR ";
    append(&out, part);
  }
  if (!out.condition.empty()) out.condition = "(" + out.condition + ")";
  return out;
}

FilterSql compile(const FilterNode& node, int64_t now_us) {
  switch (node.kind) {
    case FilterNode::Kind::kAnd:
    case FilterNode::Kind::kOr: return joined(node, now_us);
    case FilterNode::Kind::kNot: {
      FilterSql child = compile(node.children.front(), now_us);
      if (!child.exact) return {};  // the rest of too many may be too few
      child.condition = "(NOT " + child.condition + ")";
      return child;
    }
    case FilterNode::Kind::kTest: return test(node, now_us);
    case FilterNode::Kind::kWord: return {};
  }
  return {};
}

}  // namespace

FilterSql compile_filter(const Filter& filter, int64_t now_us) {
  if (filter.root() == nullptr) return {"", {}, true};
  FilterSql all = compile(*filter.root(), now_us);
  return fits(all.condition) ? all : FilterSql();
}

void bind_parameters(Statement& statement, const std::vector<SqlParameter>& parameters) {
  for (const SqlParameter& parameter : parameters) {
    if (const int64_t* integer = std::get_if<int64_t>(&parameter)) statement.bind(*integer);
    else statement.bind(std::get<std::string>(parameter));
  }
}

std::string sql_of_field(FilterFieldId field, int64_t now_us) {
  switch (field) {
    case Id::kProject: return "project";
    case Id::kId: return "run_id";
    case Id::kUid: return "uid";
    case Id::kName: return "name";
    case Id::kHost: return "host";
    case Id::kState: return "state";
    case Id::kGroup: return "run_group";
    case Id::kJobType: return "job_type";
    case Id::kCreated: return "created_us";
    case Id::kFinished: return "ended_us";
    case Id::kDuration: return fmt::format("(coalesce(ended_us, {}) - created_us)", now_us);
    case Id::kPoints: return "points";
    case Id::kLost: return "dropped";
    case Id::kArchived: return "archived";
    default: return "";
  }
}

}  // namespace tracker::internal
