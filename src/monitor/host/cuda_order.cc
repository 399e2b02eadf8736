// SPDX-License-Identifier: MIT
#include "monitor/host/cuda_order.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "monitor/host/gpu.h"

namespace tracker::internal {
namespace {

// Declared by what NVIDIA documents of the driver API (docs.nvidia.com/cuda/cuda-driver-api).
constexpr int kCudaSuccess = 0;  // every call answers another number before cuInit()
struct CudaUuid {
  unsigned char bytes[16];
};

std::string as_nvml_writes(const CudaUuid& uuid) {
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> uuids_in_cuda_order(const std::string& library,
                                                            const std::function<void(const char* call)>& watch) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) return std::nullopt;
  const auto find = [loaded](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(::dlsym(loaded, name));
  };
  int (*count_of)(int*) = nullptr;
  int (*device_of)(int*, int) = nullptr;
  int (*uuid_of)(CudaUuid*, int) = nullptr;
  find(&count_of, "cuDeviceGetCount");
  find(&device_of, "cuDeviceGet");
  find(&uuid_of, "cuDeviceGetUuid_v2");  // of a MIG device its own
  ::dlclose(loaded);                     // the program's handle keeps it
  if (count_of == nullptr || device_of == nullptr || uuid_of == nullptr) return std::nullopt;
  const auto call = [&watch](const char* name, auto function, auto... arguments) {
    watch(name);
    const int code = function(arguments...);
    watch(nullptr);
    return code == kCudaSuccess;
  };
  int count = 0;
  if (!call("cuDeviceGetCount", count_of, &count)) return std::nullopt;
  std::vector<std::string> out;
  for (int i = 0; i < std::min(count, static_cast<int>(kGpusMax)); ++i) {
    int device = 0;
    CudaUuid uuid{};
    if (!call("cuDeviceGet", device_of, &device, i) || !call("cuDeviceGetUuid_v2", uuid_of, &uuid, device))
      return std::nullopt;
    out.push_back(as_nvml_writes(uuid));
  }
  return out;
}

}  // namespace tracker::internal
