// SPDX-License-Identifier: MIT
// The few functions of NVML that are called, declared by what NVIDIA documents of them (NVML API Reference Guide,
// docs.nvidia.com/deploy/nvml-api): signatures and the values of constants, and nothing of its header. Threads: values.
#pragma once

#include <functional>
#include <type_traits>

namespace tracker::internal::nvml {

using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kTextBytes = 96;              // NVML_DEVICE_NAME_V2_BUFFER_SIZE, NVML_DEVICE_UUID_V2_BUFFER_SIZE
constexpr int kCore = 0;                         // NVML_TEMPERATURE_GPU
constexpr int kSmClock = 1, kMemoryClock = 2;    // NVML_CLOCK_SM, NVML_CLOCK_MEM
constexpr int kCorrected = 0, kUncorrected = 1;  // NVML_MEMORY_ERROR_TYPE_…
constexpr int kSinceBoot = 0;                    // NVML_VOLATILE_ECC

struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;  // NOLINT(google-runtime-int): bytes
};

// Limit: processes of a GPU that are searched for this one. Beyond it: left out.
constexpr unsigned kProcessesMax = 128;
constexpr unsigned long long kNotKnown = ~0ull;  // NOLINT(google-runtime-int): NVML_VALUE_NOT_AVAILABLE
struct Process {
  unsigned pid;
  unsigned long long memory;  // NOLINT(google-runtime-int): bytes
  unsigned gpu_instance, compute_instance;
};

struct Api {
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*processes)(Device, unsigned*, Process*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;                    // milliwatts
  int (*temperature)(Device, int, unsigned*) = nullptr;         // °C
  int (*clock)(Device, int, unsigned*) = nullptr;               // MHz
  int (*ecc)(Device, int, int, unsigned long long*) = nullptr;  // NOLINT(google-runtime-int)

  // False where what is needed for anything is missing; the others may be.
  bool load(const std::function<void*(const char*)>& find) {
    const auto take = [&find](auto* function, const char* symbol) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(find(symbol));
    };
    take(&init, "nvmlInit_v2");
    take(&count, "nvmlDeviceGetCount_v2");
    take(&by_index, "nvmlDeviceGetHandleByIndex_v2");
    take(&uuid, "nvmlDeviceGetUUID");
    take(&name, "nvmlDeviceGetName");
    take(&driver, "nvmlSystemGetDriverVersion");
    take(&utilization, "nvmlDeviceGetUtilizationRates");
    take(&memory, "nvmlDeviceGetMemoryInfo");
    take(&processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    take(&power, "nvmlDeviceGetPowerUsage");
    take(&temperature, "nvmlDeviceGetTemperature");
    take(&clock, "nvmlDeviceGetClockInfo");
    take(&ecc, "nvmlDeviceGetTotalEccErrors");
    return init != nullptr && count != nullptr && by_index != nullptr && uuid != nullptr;
  }
};

}  // namespace tracker::internal::nvml
