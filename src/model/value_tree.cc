// SPDX-License-Identifier: MIT
#include "model/value_tree.h"

#include <algorithm>
#include <tuple>

#include "model/key.h"

namespace tracker::internal {

ValueTree::ValueTree(Value map) {
  root_.value = std::move(map);
  open(&root_);
}

ValueTree::Node* ValueTree::child(Node* node, std::string_view name) {
  if (const auto found = node->by_name.find(name); found != node->by_name.end()) return found->second;
  auto made = std::make_unique<Node>();
  made->name = name;
  node->below.push_back(std::move(made));
  Node* const out = node->below.back().get();
  node->by_name.emplace(out->name, out);
  return out;
}

void ValueTree::open(Node* node) {
  if (node->open) return;
  node->open = true;
  Value value = std::move(node->value);
  node->value = Value();
  if (Value::Map* map = value.as_map())
    for (auto& [name, item] : *map) child(node, name)->value = std::move(item);
}

// How many values this merge has put there.
uint64_t ValueTree::values_of_merge(const Node& node) const {
  if (node.merge != merge_) return 0;
  if (!node.open) return 1;
  uint64_t values = 0;
  for (const auto& below : node.below) values += values_of_merge(*below);
  return values;
}

// What is there is about to be replaced.
void ValueTree::lose(const Node& node, std::string_view path) {
  const uint64_t values = merge_ != 0 ? values_of_merge(node) : 1;
  if (values > 0 && given_twice_.empty()) given_twice_ = path;
  values_lost_ += values;
}

void ValueTree::set_path(std::string_view path, Value value) {
  if (merge_ == 0) {
    given_twice_.clear();
    values_lost_ = 0;
  }
  Node* node = &root_;
  for (size_t from = 0;;) {
    const std::string_view rest = path.substr(from);
    const size_t slash = rest.find('/');
    const bool leaf = slash == std::string_view::npos || slash == 0 || slash + 1 == rest.size();
    node = child(node, leaf ? rest : rest.substr(0, slash));
    if (leaf) break;
    if (!node->open && !node->value.is_map() && !node->value.is_null()) lose(*node, path.substr(0, from + slash));
    open(node);
    if (merge_ != 0) node->merge = merge_;
    from += slash + 1;
  }
  if (merge_ != 0) lose(*node, path);
  put(node, std::move(value));
}

void ValueTree::set(std::string_view key, Value value) { put(child(&root_, key), std::move(value)); }

void ValueTree::put(Node* node, Value value) {
  if (merge_ != 0) node->merge = merge_;
  node->value = std::move(value);
  node->open = false;
  node->by_name.clear();
  node->below.clear();
}

void ValueTree::merge(const Value& map) {
  merge_ = ++merges_;
  given_twice_.clear();
  values_lost_ = 0;
  if (map.is_map()) merge_below("", map);
  merge_ = 0;
}

void ValueTree::merge_below(const std::string& prefix, const Value& value) {
  for (const auto& [name, item] : *value.as_map()) {
    const std::string path = prefix.empty() ? name : prefix + "/" + name;
    const Value::Map* below = item.as_map();
    if (below == nullptr || below->empty()) set_path(path, item);
    else merge_below(path, item);
  }
}

Value ValueTree::taken(Node* node) {
  if (!node->open) return std::move(node->value);
  Value::Map map;
  map.reserve(node->below.size());
  for (const auto& each : node->below) map.emplace_back(each->name, taken(each.get()));
  return map;
}

Value ValueTree::copied(const Node& node) {
  if (!node.open) return node.value;
  Value::Map map;
  map.reserve(node.below.size());
  for (const auto& each : node.below) map.emplace_back(each->name, copied(*each));
  return map;
}

Value ValueTree::value() const { return copied(root_); }

Value ValueTree::entry(std::string_view key) const {
  Value::Map out;
  if (const auto found = root_.by_name.find(key); found != root_.by_name.end())
    out.emplace_back(key, copied(*found->second));
  return out;
}

Value ValueTree::take() {
  Value out = taken(&root_);
  root_ = Node();
  root_.open = true;
  return out;
}

void drop_repeated_keys(Value::Map* map) {
  std::vector<size_t> order(map->size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::tie((*map)[a].first, a) < std::tie((*map)[b].first, b); });
  std::vector<bool> gone(map->size());
  size_t first = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    if ((*map)[order[i]].first != (*map)[order[first]].first) {
      first = i;
      continue;
    }
    (*map)[order[first]].second = std::move((*map)[order[i]].second);
    gone[order[i]] = true;
  }
  if (std::find(gone.begin(), gone.end(), true) == gone.end()) return;
  Value::Map kept;
  for (size_t i = 0; i < map->size(); ++i)
    if (!gone[i]) kept.push_back(std::move((*map)[i]));
  *map = std::move(kept);
}

uint64_t drop_long_paths(size_t prefix, Value::Map* map, std::string* first) {
  uint64_t dropped = 0;
  const auto is_long = [&](auto& entry) {
    auto& [name, item] = entry;
    const size_t path = prefix + (prefix == 0 ? 0 : 1) + name.size();
    Value::Map* below = item.as_map();
    if (below == nullptr || below->empty()) {
      if (path > 0 && path <= kKeyBytesMax) return false;
      if (++dropped == 1) *first = name;
      return true;
    }
    std::string inner;
    const uint64_t dropped_below = drop_long_paths(path, below, &inner);
    if (dropped_below > 0 && dropped == 0) *first = name + "/" + inner;
    dropped += dropped_below;
    return below->empty();
  };
  map->erase(std::remove_if(map->begin(), map->end(), is_long), map->end());
  return dropped;
}

}  // namespace tracker::internal
