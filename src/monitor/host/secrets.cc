// SPDX-License-Identifier: MIT
#include "monitor/host/secrets.h"

#include "model/redact/redact.h"

namespace tracker::internal {

namespace {
// curl's: user and password in one word.
bool is_login(const std::string& option) { return option == "-u" || option == "--user" || option == "--proxy-user"; }
}  // namespace

std::vector<std::string> redact_arguments(const std::vector<std::string>& arguments, uint64_t* count,
                                          size_t last_bytes) {
  std::vector<std::string> out;
  bool secret = false;
  for (const std::string& each : arguments) {
    const bool login = !out.empty() && is_login(arguments[out.size() - 1]);
    if (secret && !each.starts_with("-") && (!login || each.find(':') != std::string::npos)) {
      out.emplace_back(kRedacted);
      ++*count;
    } else {
      const bool last = out.size() + 1 == arguments.size();
      const size_t value = secret_argument(each);
      if (value > 0 && (!last || value < last_bytes)) {
        out.push_back(each.substr(0, value) + std::string(kRedacted));
        ++*count;
      } else {
        out.push_back(redact_code(each, count, last ? last_bytes : std::string::npos));
      }
    }
    secret = each.starts_with("-") && each.find('=') == std::string::npos && (is_secret_key(each) || is_login(each));
  }
  return out;
}

}  // namespace tracker::internal
