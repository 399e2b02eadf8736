// SPDX-License-Identifier: MIT
// Which files of a folder are no part of its source, as .gitignore files say it: the last rule that matches a path
// decides, "!" takes back, "/" at the end means folders, a "/" elsewhere binds the rule to its folder, "*", "?",
// "[a-z]" stay within a name and "**" goes over folders. Threads: one at a time. Cost: a question reads each rule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tracker::internal {

// Limit: rules of .gitignore and .trackerignore together. Beyond it: not read.
constexpr size_t kIgnoreRulesMax = 10'000;
// Limit: bytes of a .gitignore or .trackerignore. Beyond it: not read.
constexpr size_t kIgnoreFileBytesMax = 64 * 1024;

class IgnoreRules {
 public:
  // The lines of a file that is in `below`: "" for the root, else a path that ends with "/".
  void add(std::string_view text, std::string_view below);
  // `path` below the root, none of whose folders is ignored.
  bool ignores(std::string_view path, bool is_folder) const;

 private:
  struct Rule {
    std::string below;
    std::vector<std::string> parts;  // one, when the rule is of names at any depth
    bool takes_back = false, folders_only = false, anchored = false;
  };
  static bool parse(std::string_view line, Rule* out);
  std::vector<Rule> rules_;
};

// One name against "*", "?", "[…]" and "\".
bool matches_name(std::string_view pattern, std::string_view name);

}  // namespace tracker::internal
