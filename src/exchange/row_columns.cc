// SPDX-License-Identifier: MIT
#include "exchange/row_columns.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace tracker::internal {
namespace {

std::string lower_cased(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

size_t first_of(const std::vector<std::string>& names, std::initializer_list<std::string_view> wanted) {
  for (const std::string_view name : wanted)
    for (size_t i = 0; i < names.size(); ++i)
      if (lower_cased(names[i]) == name) return i;
  return kNoColumn;
}

}  // namespace

// Of Lightning, W&B, Keras, Ray and Stable-Baselines3.
size_t step_column(const std::vector<std::string>& names) {
  const size_t found = first_of(names, {"step", "_step", "global_step", "trainer/global_step", "train/global_step",
                                        "iteration", "iter", "training_iteration", "epoch", "time/total_timesteps",
                                        "total_timesteps", "timesteps_total", "timesteps"});
  return found == kNoColumn && !names.empty() && names[0].empty() ? 0 : found;
}

size_t time_column(const std::vector<std::string>& names) {
  return first_of(names, {"time", "timestamp", "_timestamp", "wall time", "wall_time"});
}

size_t column_named(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? kNoColumn : static_cast<size_t>(found - names.begin());
}

}  // namespace tracker::internal
