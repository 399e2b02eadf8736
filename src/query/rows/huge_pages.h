// SPDX-License-Identifier: MIT
// Large results are filled once and read once: with pages of 4 KiB a third of the time goes to page faults.
// Threads: any.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tracker::internal {

// Reserves room for `rows` and asks the kernel for pages of 2 MiB where there is room for them; without them all works
// as before.
template <typename T>
void reserve_huge(std::vector<T>* column, size_t rows) {
  constexpr uintptr_t kHugePage = 2u << 20;
  column->reserve(rows);
  const auto begin = reinterpret_cast<uintptr_t>(column->data());
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (begin + column->capacity() * sizeof(T)) / kHugePage * kHugePage;
#ifdef MADV_HUGEPAGE
  if (end > first) (void)::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

}  // namespace tracker::internal
