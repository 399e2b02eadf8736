// SPDX-License-Identifier: MIT
// The unit of build and test times is the CPU of this file's compilation (reference_compile.py). Do not change it.
#include <functional>
#include <iostream>
#include <map>
#include <regex>

int main(int argc, char** argv) {
  const std::regex number(R"(([+-]?\d+)(\.\d*)?([eE][+-]?\d+)?)");
  std::map<std::string, std::function<bool(const std::string&)>> checks;
  checks["number"] = [&](const std::string& text) { return std::regex_match(text, number); };
  for (int i = 1; i < argc; ++i) std::cout << argv[i] << ' ' << checks["number"](argv[i]) << '\n';
}
