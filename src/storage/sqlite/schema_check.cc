// SPDX-License-Identifier: MIT
#include "storage/sqlite/schema_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tracker::internal {
namespace {

constexpr size_t kNameBytesShown = 64;

bool is_sql_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

std::string with_single_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!is_sql_blank(c)) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// Without a copy: called for each object of each opened database.
bool is_same(std::string_view sql, std::string_view single_blanks) {
  size_t at = 0;
  for (size_t i = 0; i < sql.size(); ++i) {
    if (is_sql_blank(sql[i]) && i > 0 && is_sql_blank(sql[i - 1])) continue;
    if (at >= single_blanks.size() || single_blanks[at] != (is_sql_blank(sql[i]) ? ' ' : sql[i])) return false;
    ++at;
  }
  return at == single_blanks.size();
}

// SQLite's own index for a PRIMARY KEY or UNIQUE of a table, which is checked itself.
bool is_of_a_key(std::string_view name, const Statement& row) {
  return row.is_null(2) && row.bytes_at(0) == "index" && name.starts_with("sqlite_autoindex_");
}

// The tables of ANALYZE and PRAGMA optimize, which other programs run on their own: numbers for SQLite's planner. No
// statement of ours reads them.
bool is_of_analyze(const Statement& row) {
  return row.bytes_at(0) == "table" &&
         (is_same(row.bytes_at(2), "CREATE TABLE sqlite_stat1(tbl,idx,stat)") ||
          is_same(row.bytes_at(2), "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"));
}

// An index that a user has added over columns: names only, so that SQLite computes nothing for it, and not UNIQUE,
// which would refuse rows.
bool is_plain_index(const Statement& row) {
  const std::string_view sql = row.bytes_at(2);
  const size_t open = sql.find('(');
  if (row.bytes_at(0) != "index" || !sql.starts_with("CREATE INDEX ") || open == std::string_view::npos) return false;
  const size_t close =
      sql.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_, \n\t\r", open + 1);
  return close != std::string_view::npos && sql[close] == ')' && close + 1 == sql.size();
}

Status refuse(const std::string& path, std::string_view type, std::string_view name, bool ours) {
  return Status(Code::kCorrupt,
                fmt::format("{}: the {} \"{}\" in it is {}; nothing of the file is read", path, type,
                            name.substr(0, kNameBytesShown), ours ? "not ours" : "none of ours"),
                ours ? "another program has changed it: restore it from a copy"
                     : "another program has added it: drop it there with sqlite3, and the file is valid again");
}

}  // namespace

std::vector<SchemaObject> schema_objects(std::string_view statements, bool needed) {
  constexpr std::string_view kOption = "IF NOT EXISTS ";
  std::vector<SchemaObject> out;
  for (size_t end; (end = statements.find(';')) != std::string_view::npos; statements.remove_prefix(end + 1)) {
    SchemaObject object{"", with_single_blanks(statements.substr(0, end)), needed};
    if (const size_t at = object.sql.find(kOption); at != std::string::npos) object.sql.erase(at, kOption.size());
    const size_t open = std::min(object.sql.find('('), object.sql.find(" ON "));
    const size_t begin = object.sql.rfind(' ', open - 1) + 1;
    object.name = object.sql.substr(begin, open - begin);
    out.push_back(std::move(object));
  }
  return out;
}

Status check_schema(Sqlite& db, std::string_view schema, const std::vector<SchemaObject>& expected,
                    const std::string& path) {
  auto rows = db.prepare(fmt::format("SELECT type, name, sql FROM {}.sqlite_master", schema));
  if (!rows.ok()) return rows.status();
  std::vector<bool> found(expected.size());
  for (;;) {
    auto row = rows->step();
    if (!row.ok()) return row.status();
    if (!*row) break;
    const std::string_view name = rows->bytes_at(1);
    const auto known =
        std::find_if(expected.begin(), expected.end(), [name](const SchemaObject& one) { return one.name == name; });
    if (known != expected.end() && is_same(rows->bytes_at(2), known->sql))
      found[static_cast<size_t>(std::distance(expected.begin(), known))] = true;
    else if (!is_of_a_key(name, *rows) && (known != expected.end() || !(is_of_analyze(*rows) || is_plain_index(*rows))))
      return refuse(path, rows->bytes_at(0), name, known != expected.end());
  }
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i].needed && !found[i])
      return Status(Code::kCorrupt, fmt::format("{}: it has no table {}", path, expected[i].name),
                    "restore it from a copy");
  return {};
}

std::string_view tree_finding(std::string_view said) {
  const size_t heading = said.starts_with("***") ? said.find('\n') : std::string_view::npos;
  if (heading != std::string_view::npos) said.remove_prefix(heading + 1);
  return said.substr(0, said.find('\n'));
}

}  // namespace tracker::internal
