// SPDX-License-Identifier: MIT
#include "monitor/source/ignore_rules.h"

#include <algorithm>

#include "monitor/host/text_files.h"

namespace tracker::internal {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end > at) out.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// A "[…]" at `at`, which moves past it. False also for a set without an end: its "[" is then an ordinary character.
bool matches_set(std::string_view pattern, size_t* at, char c) {
  size_t i = *at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false, ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) ++i;
    const char low = pattern[i];
    char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') high = pattern[i += 2];
    found = found || (low <= c && c <= high);
  }
  if (i >= pattern.size()) {
    *at += 1;
    return c == '[';
  }
  *at = i + 1;
  return found != negated;
}

bool matches_one(std::string_view pattern, size_t* at, char c) {
  if (pattern[*at] == '[') return matches_set(pattern, at, c);
  if (pattern[*at] == '\\' && *at + 1 < pattern.size()) ++*at;
  else if (pattern[*at] == '?') return ++*at, true;
  return pattern[(*at)++] == c;
}

// Row by row: whether the parts of the rule up to here match the parts of the path up to there.
bool matches_path(const std::vector<std::string>& rule, const std::vector<std::string>& path) {
  std::vector<char> now(path.size() + 1, 0);
  now[0] = 1;
  for (size_t r = 0; r < rule.size(); ++r) {
    std::vector<char> next(path.size() + 1, 0);
    if (rule[r] == "**") {
      // At the end it stands for something, elsewhere for nothing too.
      char any = 0;
      for (size_t p = 0; p <= path.size(); ++p) {
        next[p] = r + 1 == rule.size() ? any : any | now[p];
        any |= now[p];
      }
    } else {
      for (size_t p = 0; p < path.size(); ++p) next[p + 1] = now[p] != 0 && matches_name(rule[r], path[p]);
    }
    now.swap(next);
  }
  return now[path.size()] != 0;
}

}  // namespace

bool matches_name(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, star_at = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_at = n;
      continue;
    }
    size_t next = p;
    if (p < pattern.size() && matches_one(pattern, &next, name[n])) {
      p = next;
      ++n;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star;
    n = ++star_at;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IgnoreRules::parse(std::string_view line, Rule* out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  if (line.empty() || line.starts_with('#')) return false;
  if (line.starts_with('!')) {
    out->takes_back = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    out->folders_only = true;
    line.remove_suffix(1);
  }
  out->anchored = line.find('/') != std::string_view::npos;
  out->parts = split_path(line);
  return !out->parts.empty();
}

void IgnoreRules::add(std::string_view text, std::string_view below) {
  for (const std::string_view line : lines_of(text.substr(0, kIgnoreFileBytesMax))) {
    if (rules_.size() >= kIgnoreRulesMax) return;
    Rule rule;
    rule.below = below;
    if (parse(line, &rule)) rules_.push_back(std::move(rule));
  }
}

bool IgnoreRules::ignores(std::string_view path, bool is_folder) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if ((rule->folders_only && !is_folder) || !path.starts_with(rule->below)) continue;
    const std::string_view rest = path.substr(rule->below.size());
    const bool found = rule->anchored ? matches_path(rule->parts, split_path(rest))
                                      : matches_name(rule->parts.front(), rest.substr(rest.find_last_of('/') + 1));
    if (found) return !rule->takes_back;
  }
  return false;
}

}  // namespace tracker::internal
