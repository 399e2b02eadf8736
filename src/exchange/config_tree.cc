// SPDX-License-Identifier: MIT
#include "exchange/config_tree.h"

#include <functional>
#include <map>
#include <set>

namespace tracker::internal {
namespace {

using Names = std::map<std::string, const Value*, std::less<>>;

// The names that have a value of their own and names below them.
std::set<std::string, std::less<>> names_above(const Names& names) {
  std::set<std::string, std::less<>> out;
  for (const auto& [name, value] : names)
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
      if (slash > 0 && slash + 1 < name.size() && names.contains(name.substr(0, slash)))
        out.insert(name.substr(0, slash));
  return out;
}

std::string free_name_below(const Names& names, const std::string& name) {
  std::string out = name + "/value";
  for (auto next = names.lower_bound(out); next != names.end() && next->first.starts_with(out);
       next = names.lower_bound(out))
    out += '_';
  return out;
}

}  // namespace

Settings side_by_side(const Settings& given, uint64_t* moved) {
  Names last;
  for (const auto& [name, value] : given) last[name] = &value;
  const auto above = names_above(last);
  std::set<std::string, std::less<>> trees;
  for (const std::string& name : above) trees.insert(name.substr(0, name.find('/')));
  Settings out;
  Value whole = Value::map();
  for (const auto& [name, value] : given) {
    if (last[name] != &value) continue;
    if (!trees.contains(name.substr(0, name.find('/')))) {
      out.emplace_back(name, value);
    } else if (!above.contains(name)) {
      whole.set_path(name, value);
    } else if (const Value::Map* map = value.as_map()) {
      for (const auto& [below, item] : *map) whole.set_path(name + "/" + below, item);
    } else {
      whole.set_path(free_name_below(last, name), value);
      ++*moved;
    }
  }
  for (const auto& [tree, value] : *whole.as_map()) out.emplace_back(tree, value);
  return out;
}

}  // namespace tracker::internal
