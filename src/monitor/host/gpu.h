// SPDX-License-Identifier: MIT
// GPUs by NVIDIA's management library (NVML), found at run time: nothing is linked, and where there is none nothing is
// loaded. Threads: one, of its own, for any call may hang in the driver. Cost: some ten calls a GPU and look.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/value.h"
#include "monitor/host/system_sample.h"

namespace tracker::internal {

// Limit: GPUs of a machine. Beyond it: left out.
constexpr size_t kGpusMax = 64;

struct GpuOptions {
  std::string library;                 // TRACKER_NVML: a path, or "off"; else libnvidia-ml.so.1
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES
  // The program that tries the library in a process of its own (monitor/host/gpu_trial.h), and its environment; empty:
  // none.
  std::vector<std::string> trial = {}, environment = {};
  std::string order = {};  // CUDA_DEVICE_ORDER
  std::string cuda_library = "libcuda.so.1";
  // Call it where no other thread changes the environment.
  static GpuOptions from_env(std::vector<std::string> trial = {});
  // Whether there seems to be a driver: its files, or a library that is named. Cost: two stat(2).
  bool may_open() const;
  std::string library_name() const;
};

class GpuSampler {
 public:
  // Called before each call of the driver with the call's name, and with nullptr when it has come back.
  using Watch = std::function<void(const char* call)>;
  GpuSampler(GpuOptions options, Watch watch);
  ~GpuSampler();

  // Loads the library and finds the GPUs that CUDA has for this process, in its order: as CUDA says where the program
  // uses it already, else by CUDA_VISIBLE_DEVICES. False: there are none, or the library is no such one.
  bool open();
  // driver, devices: a list of index, name, uuid, memory_bytes. Index: the number of CUDA, as in system/gpu.<index>;
  // `numbering` is "nvml" where CUDA's is not known, which is so with GPUs of several kinds before CUDA is used.
  Value describe();
  std::vector<SystemValue> look();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The GPUs that a CUDA_VISIBLE_DEVICES leaves, as places in `uuids`, in its order. Numbers, UUIDs and beginnings of
// UUIDs are known; as CUDA does it stops at the first that is none. None: all. MIG devices ("MIG-…") are left out.
std::vector<size_t> visible_gpus(const std::optional<std::string>& variable, const std::vector<std::string>& uuids);

}  // namespace tracker::internal
