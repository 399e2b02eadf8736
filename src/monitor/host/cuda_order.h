// SPDX-License-Identifier: MIT
// In which order CUDA numbers the GPUs of this process. Its own default puts the fastest first, NVML goes by the bus,
// so on a machine of several kinds a number means another GPU. Threads: the one of the driver's calls, which may hang.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tracker::internal {

// UUIDs as NVML writes them, in CUDA's order, CUDA_VISIBLE_DEVICES applied. nullopt: the program has not loaded
// `library`, or has not called cuInit(), which is never done for it. `watch` gets each call, as GpuSampler's does.
// A MIG device has a UUID that NVML gives to no GPU.
std::optional<std::vector<std::string>> uuids_in_cuda_order(const std::string& library,
                                                            const std::function<void(const char* call)>& watch);

}  // namespace tracker::internal
