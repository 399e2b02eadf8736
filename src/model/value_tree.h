// SPDX-License-Identifier: MIT
// Large maps are built here: what Value::set_path does for one key, in a time that does not grow with the keys that are
// there. Threads: values, no sharing. Cost: a hash look-up a part of a path, and for a Value that is given or taken a
// pass over it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/value.h"

namespace tracker::internal {

class ValueTree {
 public:
  ValueTree() : ValueTree(Value::map()) {}
  explicit ValueTree(Value map);  // what is no map counts as an empty one

  // As Value::set_path: a key keeps the place where it first was, maps between are made, what is no map is replaced.
  void set_path(std::string_view path, Value value);
  // Each leaf of `map` by the path of keys that leads to it, as the store does: what else lies below a key stays. An
  // empty map below a key is a leaf.
  void merge(const Value& map);
  // The first path of which the last merge() gave two values: {"a/b": 1, "a": {"b": 2}}; or of which the last
  // set_path() replaced a value by a map, to get below it. Empty: none.
  const std::string& given_twice() const { return given_twice_; }
  uint64_t values_lost() const { return values_lost_; }  // of them: values that are no longer there
  // As Value::set: the key is no path.
  void set(std::string_view key, Value value);
  Value value() const;                      // a copy
  Value entry(std::string_view key) const;  // a map of that entry alone, or an empty one
  Value take();

 private:
  struct Node {
    std::string name;
    Value value;         // unless it is open
    bool open = false;   // a map whose entries are nodes
    uint64_t merge = 0;  // the last merge() that set it, or something below it
    std::vector<std::unique_ptr<Node>> below;
    std::unordered_map<std::string_view, Node*> by_name;
  };
  static void open(Node* node);
  static Node* child(Node* node, std::string_view name);
  static Value taken(Node* node);
  static Value copied(const Node& node);
  void put(Node* node, Value value);
  void lose(const Node& node, std::string_view path);
  uint64_t values_of_merge(const Node& node) const;
  void merge_below(const std::string& prefix, const Value& value);

  Node root_;
  uint64_t merges_ = 0, merge_ = 0;  // merge_: the one that is under way, or 0
  std::string given_twice_;
  uint64_t values_lost_ = 0;
};

// Of each key the last value, at the place of its first. Cost: n log n.
void drop_repeated_keys(Value::Map* map);
// Takes away each leaf that merge() would put at a path of no byte or of more than kKeyBytesMax, which no single key
// may be, and the maps that are empty then. `prefix`: bytes of the path that leads to the map, 0 without one. Returns
// how many leaves went; `first` is the path of the first, below the prefix.
uint64_t drop_long_paths(size_t prefix, Value::Map* map, std::string* first);

}  // namespace tracker::internal
