// SPDX-License-Identifier: MIT
#include "storage/log/ring_positions.h"

#include <algorithm>

namespace tracker::internal {

void set_position(const RingPosition& position, std::vector<RingPosition>* all) {
  const auto same = [&position](const RingPosition& p) { return p.nonce == position.nonce; };
  const auto at = std::find_if(all->begin(), all->end(), same);
  if (at == all->end()) all->push_back(position);
  else *at = position;
}

void drop_positions(const std::vector<uint64_t>& nonces, std::vector<RingPosition>* all) {
  std::erase_if(*all, [&nonces](const RingPosition& p) {
    return std::find(nonces.begin(), nonces.end(), p.nonce) != nonces.end();
  });
}

}  // namespace tracker::internal
