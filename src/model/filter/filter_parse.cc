// SPDX-License-Identifier: MIT
// From text to a filter, a sort order, a list of columns. Recursive descent; the depth is bounded by kFilterDepthMax.
#include <fmt/format.h>

#include <algorithm>

#include "model/filter/filter_field.h"
#include "model/filter/filter_lexer.h"
#include "model/records.h"

namespace tracker::internal {
namespace {

using Kind = FilterToken::Kind;
using Node = FilterNode;

constexpr FilterOp kSymbolOps[] = {FilterOp::kEqual,   FilterOp::kNotEqual,     FilterOp::kLess,   FilterOp::kLessEqual,
                                   FilterOp::kGreater, FilterOp::kGreaterEqual, FilterOp::kMatches};
constexpr const char* kOperators = "= != < <= > >= ~ contains in";

// Every function returns false after fail(); the first failure is kept.
class Parser {
 public:
  Parser(std::string_view text, int64_t now_us, FilterError* error) : text_(text), now_us_(now_us), error_(error) {}

  bool lex() { return lex_filter(text_, &tokens_, error_); }
  bool at_end() const { return peek().kind == Kind::kEnd; }
  bool over_limit() const { return over_limit_; }

  bool expression(Node* out) { return sequence("or", Node::Kind::kOr, &Parser::conjunction, out); }
  bool end_of_filter() {
    if (at_end()) return true;
    return fail(peek(), fmt::format("{} was not expected", token_name(peek())), "\"and\", \"or\" or the end");
  }

  bool field(FilterField* out) {
    const FilterToken token = take();
    error_->offset = token.offset;
    auto found = field_of_token(token, error_);
    if (!found) return false;
    *out = std::move(*found);
    return true;
  }
  bool comma() {
    if (peek().kind != Kind::kComma) return false;
    ++at_;
    return true;
  }
  // Takes a "-" in front of a field's name.
  bool minus() {
    FilterToken& token = tokens_[at_];
    if (token.kind != Kind::kWord || !token.text.starts_with('-')) return false;
    token.text.erase(0, 1);
    ++token.offset;
    return true;
  }
  bool fail(const FilterToken& token, std::string message, std::string expected) {
    error_->offset = token.offset;
    error_->message = std::move(message);
    error_->expected = std::move(expected);
    return false;
  }
  bool limit(const FilterToken& token, std::string message) {
    over_limit_ = true;
    return fail(token, std::move(message), "");
  }
  const FilterToken& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

 private:
  FilterToken take() {
    FilterToken token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is_keyword(const FilterToken& token, std::string_view keyword) const {
    return token.kind == Kind::kWord && !token.key && ascii_lower(token.text) == keyword;
  }

  bool sequence(std::string_view keyword, Node::Kind kind, bool (Parser::*part)(Node*), Node* out) {
    Node first;
    if (!(this->*part)(&first)) return false;
    if (!is_keyword(peek(), keyword)) {
      *out = std::move(first);
      return true;
    }
    out->kind = kind;
    out->children.push_back(std::move(first));
    while (is_keyword(peek(), keyword)) {
      ++at_;
      out->children.emplace_back();
      if (!(this->*part)(&out->children.back())) return false;
    }
    return true;
  }
  bool conjunction(Node* out) { return sequence("and", Node::Kind::kAnd, &Parser::unary, out); }

  bool unary(Node* out) {
    const FilterToken& token = peek();
    if (!is_keyword(token, "not") && token.kind != Kind::kOpen) return test(out);
    if (++depth_ > kFilterDepthMax)
      return limit(token, fmt::format("more than {} of \"(\" and \"not\" within each other", kFilterDepthMax));
    const bool parsed = token.kind == Kind::kOpen ? group(out) : negation(out);
    --depth_;
    return parsed;
  }
  bool negation(Node* out) {
    ++at_;
    out->kind = Node::Kind::kNot;
    out->children.emplace_back();
    return unary(&out->children.back());
  }
  bool group(Node* out) {
    ++at_;
    if (!expression(out)) return false;
    if (peek().kind != Kind::kClose)
      return fail(peek(), fmt::format("{} was not expected", token_name(peek())), "\"and\", \"or\" or \")\"");
    ++at_;
    return true;
  }

  bool test(Node* out) {
    const FilterToken& token = peek();
    const bool keyword = is_keyword(token, "and") || is_keyword(token, "or");
    if ((token.kind != Kind::kWord && token.kind != Kind::kQuoted) || keyword)
      return fail(token, fmt::format("{} was not expected", token_name(token)),
                  "a test such as state = failed, a word, \"not\" or \"(\"");
    if (++tests_ > kFilterTestsMax) return limit(token, fmt::format("more than {} tests", kFilterTestsMax));
    const FilterToken& next = peek(1);
    if (next.kind == Kind::kOpen) return function(out);
    if (next.kind == Kind::kOp || is_keyword(next, "contains") || is_keyword(next, "in")) return comparison(out);
    if (token.key || begins_as_keyed_field(token)) {  // a word is searched for in names, and this is none
      if (!field(&out->field)) return false;
      return fail(peek(), fmt::format("{} after a field", token_name(peek())), kOperators);
    }
    out->kind = Node::Kind::kWord;
    out->word = ascii_lower(token.text);
    ++at_;
    return true;
  }

  static bool begins_as_keyed_field(const FilterToken& token) {
    return token.kind == Kind::kWord && (token.text.starts_with("config.") || token.text.starts_with("summary.") ||
                                         token.text.starts_with("metrics."));
  }

  bool function(Node* out) {
    const FilterToken name = take();
    if (is_keyword(name, "missing")) out->op = FilterOp::kMissing;
    else if (is_keyword(name, "isnan")) out->op = FilterOp::kIsNan;
    else return fail(name, fmt::format("{} is no function", token_name(name)), "missing(FIELD) or isnan(FIELD)");
    ++at_;
    if (!field(&out->field)) return false;
    if (peek().kind != Kind::kClose)
      return fail(peek(), fmt::format("{} was not expected", token_name(peek())), "\")\"");
    ++at_;
    return true;
  }

  bool comparison(Node* out) {
    if (peek().kind == Kind::kQuoted)
      return fail(peek(), "a field is not written in quotes", "a field, of a key with other characters config.\"KEY\"");
    if (!field(&out->field)) return false;
    const FilterToken op = take();
    if (op.kind == Kind::kOp) {
      for (const FilterOp known : kSymbolOps)
        if (op.text == filter_op_text(known)) out->op = known;
    } else {
      out->op = is_keyword(op, "in") ? FilterOp::kIn : FilterOp::kContains;
    }
    if (!check_op(op, *out)) return false;
    return out->op == FilterOp::kIn ? value_list(out) : value(out);
  }

  bool check_op(const FilterToken& token, const Node& node) {
    const FieldKind kind = node.field.kind();
    const bool textual = kind == FieldKind::kText || kind == FieldKind::kTexts || kind == FieldKind::kAny;
    if ((node.op == FilterOp::kMatches || node.op == FilterOp::kContains) && !textual)
      return fail(token, fmt::format("{} is no text", node.field.text()), "= != < <= > >= in");
    const bool orders = node.op >= FilterOp::kLess && node.op <= FilterOp::kGreaterEqual;
    if (kind == FieldKind::kBool && orders)
      return fail(token, fmt::format("{} is true or false", node.field.text()), "= != in");
    return true;
  }

  bool value_list(Node* out) {
    if (peek().kind != Kind::kOpenList) return fail(peek(), "\"in\" without a list", "[value, ...]");
    ++at_;
    for (;;) {
      if (out->literals.size() == kFilterListMax)
        return limit(peek(), fmt::format("more than {} values in a list", kFilterListMax));
      if (!value(out)) return false;
      const FilterToken next = take();
      if (next.kind == Kind::kCloseList) return true;
      if (next.kind != Kind::kComma) return fail(next, fmt::format("{} in a list", token_name(next)), "\",\" or \"]\"");
    }
  }

  bool value(Node* out) {
    const FilterToken token = take();
    const bool keyword = is_keyword(token, "and") || is_keyword(token, "or") || is_keyword(token, "not");
    if ((token.kind != Kind::kWord && token.kind != Kind::kQuoted) || token.key || keyword)
      return fail(token, fmt::format("{} where a value is needed", token_name(token)),
                  "a number, \"text\", true, false, null, 90m, 2026-09-01, now-7d or a word");
    FilterLiteral literal;
    literal.kind = FilterLiteral::Kind::kText;
    literal.text = token.text;
    if (token.kind == Kind::kWord) literal = literal_of_word(token.text, now_us_);
    if (!fit(token, *out, &literal)) return false;
    if (out->op == FilterOp::kMatches) {
      auto regex = Regex::compile(literal.text);
      if (!regex.ok()) return fail(token, regex.status().message(), regex.status().hint());
      out->regex = std::move(*regex);
    }
    out->literals.push_back(std::move(literal));
    return true;
  }

  // The value as the kind of the field has it; a value that can never be there is a mistake that is said at once.
  bool fit(const FilterToken& token, const Node& node, FilterLiteral* literal) {
    using Literals = FilterLiteral::Kind;
    const Literals kind = literal->kind;
    const std::string name = node.field.text();
    const bool number = kind == Literals::kInt || kind == Literals::kDouble;
    switch (node.field.kind()) {
      case FieldKind::kText:
      case FieldKind::kTexts:
        if (kind == Literals::kNull) return fail(token, name + " is text, never null", "missing(" + name + ")");
        literal->kind = Literals::kText;  // "id = 42" means the run called 42
        return node.field.id != FilterFieldId::kState || state_name(token, node, *literal);
      case FieldKind::kNumber: return number || fail(token, name + " is a number", "a number such as 0 or 1e-3");
      case FieldKind::kBool: return kind == Literals::kBool || fail(token, name + " is true or false", "true or false");
      case FieldKind::kTime:
        if (kind == Literals::kText)
          if (auto time = time_literal(literal->text, now_us_)) *literal = *time;
        return literal->kind == Literals::kTime ||
               fail(token, name + " is a time", "2026-09-01, 2026-09-01T12:30, now or now-7d");
      case FieldKind::kDuration:
        return number || kind == Literals::kDuration || fail(token, name + " is a duration", "90s, 15m, 2h, 7d");
      case FieldKind::kMetric:
        return number || kind == Literals::kBool || kind == Literals::kDuration ||
               fail(token, name + " is a number", "a number such as 0.92 or 1e-3");
      case FieldKind::kAny: return fit_any(token, node, literal);
    }
    return true;
  }
  bool fit_any(const FilterToken& token, const Node& node, FilterLiteral* literal) {
    const bool null = literal->kind == FilterLiteral::Kind::kNull;
    const bool equality = node.op == FilterOp::kEqual || node.op == FilterOp::kNotEqual || node.op == FilterOp::kIn;
    if (node.op == FilterOp::kMatches) literal->kind = FilterLiteral::Kind::kText;
    else if (null && !equality) return fail(token, "null has no order", "= null, != null");
    return true;
  }
  bool state_name(const FilterToken& token, const Node& node, const FilterLiteral& literal) {
    if (node.op == FilterOp::kMatches || node.op == FilterOp::kContains) return true;
    std::string known;
    for (const RunState state :
         {RunState::kRunning, RunState::kFinished, RunState::kFailed, RunState::kInterrupted, RunState::kPreempted,
          RunState::kCrashed, RunState::kLostContact, RunState::kDamaged}) {
      if (literal.text == run_state_name(state)) return true;
      known += fmt::format("{}{}", known.empty() ? "" : ", ",
                           state == RunState::kLostContact ? "\"lost contact\"" : run_state_name(state));
    }
    return fail(token, fmt::format("\"{}\" is no state", literal.text), known);
  }

  std::string_view text_;
  int64_t now_us_;
  FilterError* error_;
  std::vector<FilterToken> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  size_t tests_ = 0;
  bool over_limit_ = false;
};

// The error as a Status, its column counted in characters.
Status as_status(std::string_view what, std::string_view text, bool over_limit, FilterError* error) {
  error->column = 1;
  for (size_t i = 0; i < error->offset && i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) ++error->column;
  return Status(over_limit || text.size() > kFilterBytesMax ? Code::kLimit : Code::kInvalid,
                fmt::format("{}, column {}: {}", what, error->column, error->message),
                error->expected.empty() ? "" : "expected " + error->expected);
}

}  // namespace

const char* filter_op_text(FilterOp op) {
  constexpr const char* kTexts[] = {"=", "!=", "<", "<=", ">", ">=", "~", "contains", "in", "missing", "isnan"};
  return kTexts[static_cast<size_t>(op)];
}

Result<Filter> Filter::parse(std::string_view text, int64_t now_us, FilterError* error) {
  FilterError own;
  if (error == nullptr) error = &own;
  Parser parser(text, now_us, error);
  Filter out;
  if (!parser.lex()) return as_status("filter", text, false, error);
  if (parser.at_end()) return out;
  FilterNode root;
  if (!parser.expression(&root) || !parser.end_of_filter())
    return as_status("filter", text, parser.over_limit(), error);
  out.root_ = std::make_shared<const FilterNode>(std::move(root));
  return out;
}

Result<std::vector<SortField>> parse_sort(std::string_view text, FilterError* error) {
  FilterError own;
  if (error == nullptr) error = &own;
  Parser parser(text, 0, error);
  std::vector<SortField> out;
  if (!parser.lex()) return as_status("sort order", text, false, error);
  do {
    SortField& sort = out.emplace_back();
    sort.descending = parser.minus();
    if (out.size() > kSortFieldsMax) parser.limit(parser.peek(), fmt::format("more than {} fields", kSortFieldsMax));
    if (out.size() > kSortFieldsMax || !parser.field(&sort.field))
      return as_status("sort order", text, parser.over_limit(), error);
  } while (parser.comma());
  if (parser.at_end()) return out;
  parser.fail(parser.peek(), fmt::format("{} was not expected", token_name(parser.peek())), "\",\" or the end");
  return as_status("sort order", text, false, error);
}

Result<std::vector<FilterField>> parse_columns(std::string_view text, FilterError* error) {
  FilterError own;
  if (error == nullptr) error = &own;
  Parser parser(text, 0, error);
  std::vector<FilterField> out;
  if (!parser.lex()) return as_status("columns", text, false, error);
  do {
    if (out.size() == kColumnFieldsMax)
      parser.limit(parser.peek(), fmt::format("more than {} fields", kColumnFieldsMax));
    if (out.size() == kColumnFieldsMax || !parser.field(&out.emplace_back()))
      return as_status("columns", text, parser.over_limit(), error);
  } while (parser.comma());
  if (parser.at_end()) return out;
  parser.fail(parser.peek(), fmt::format("{} was not expected", token_name(parser.peek())), "\",\" or the end");
  return as_status("columns", text, false, error);
}

}  // namespace tracker::internal
