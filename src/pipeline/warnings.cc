// SPDX-License-Identifier: MIT
#include "pipeline/warnings.h"

#include <unistd.h>

#include "base/write_signals.h"
#include "model/visible.h"

namespace tracker::internal {

void print_line(std::string_view text) {
  // One line of text, whatever a name holds.
  const std::string line = "tracker: " + visible(text) + "\n";
  const NoWriteSignals guard;
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // a closed stderr is the user's choice
}

std::string count_text(uint64_t n, std::string_view one, std::string_view many) {
  std::string out = std::to_string(n);
  for (int i = static_cast<int>(out.size()) - 3; i > 0; i -= 3) out.insert(static_cast<size_t>(i), ",");
  return out.append(" ").append(n == 1 ? one : many);
}

void Warnings::warn_once(std::string_view topic, std::string_view text) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (topics_.size() > kWarningsMax || !topics_.emplace(topic).second) return;
    if (topics_.size() == kWarningsMax + 1)
      text = "more warnings of this run are only counted; status() has the counts";
  }
  print_line(about_ + std::string(text));
}

}  // namespace tracker::internal
