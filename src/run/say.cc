// SPDX-License-Identifier: MIT
#include "run/say.h"

#include <unistd.h>

#include "model/key.h"

namespace tracker::internal {

void say(std::string_view text) {
  std::string line = "tracker: ";
  // One line of text, whatever a name holds, also when a name was cut within a character.
  const bool is_text = is_utf8(text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? ' ' : byte >= 0x80 && !is_text ? '?' : c;
  }
  line += '\n';
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // a closed stderr is the user's choice
}

void SayOnce::say(std::string_view topic, std::string_view text) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (said_.size() > kSaidMax || !said_.emplace(topic).second) return;
    if (said_.size() == kSaidMax + 1) text = "more warnings of this run are only counted; status() has the counts";
  }
  tracker::internal::say(text);
}

}  // namespace tracker::internal
