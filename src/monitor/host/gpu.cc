// SPDX-License-Identifier: MIT
#include "monitor/host/gpu.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fs.h"
#include "monitor/host/cuda_order.h"
#include "monitor/host/nvml_api.h"
#include "monitor/host/text_files.h"
#include "monitor/host/utf8_text.h"

extern char** environ;  // NOLINT: POSIX says so

namespace tracker::internal {

GpuOptions GpuOptions::from_env(std::vector<std::string> trial) {
  GpuOptions out;
  const char* library = std::getenv("TRACKER_NVML");
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (library != nullptr) out.library = library;
  if (visible != nullptr) out.visible = visible;
  if (const char* order = std::getenv("CUDA_DEVICE_ORDER"); order != nullptr) out.order = order;
  if (trial.empty() || !out.may_open()) return out;
  out.trial = std::move(trial);
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) out.environment.emplace_back(*each);
  return out;
}

bool GpuOptions::may_open() const {
  if (!library.empty()) return library != "off";
  return path_exists("/dev/nvidiactl") || path_exists("/proc/driver/nvidia/version");
}

std::string GpuOptions::library_name() const { return library.empty() ? "libnvidia-ml.so.1" : library; }

std::vector<size_t> visible_gpus(const std::optional<std::string>& variable, const std::vector<std::string>& uuids) {
  std::vector<size_t> out;
  if (!variable) {
    for (size_t i = 0; i < uuids.size(); ++i) out.push_back(i);
    return out;
  }
  std::string_view rest(*variable);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view word = trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    size_t found = uuids.size();
    if (word.starts_with("GPU-")) {
      const auto fits = [word](const std::string& uuid) { return uuid.starts_with(word); };
      const auto at = std::find_if(uuids.begin(), uuids.end(), fits);
      if (at != uuids.end() && std::find_if(at + 1, uuids.end(), fits) == uuids.end())
        found = static_cast<size_t>(at - uuids.begin());
    } else if (!word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos) {
      found = number_in(word).value_or(uuids.size());
    }
    if (found >= uuids.size() || std::find(out.begin(), out.end(), found) != out.end()) break;
    out.push_back(found);
  }
  return out;
}

struct GpuSampler::Impl {
  struct Gpu {
    nvml::Device device = nullptr;
    size_t number = 0;
    std::string prefix, name, uuid;  // "system/gpu.0."
  };
  GpuOptions options;
  Watch watch;
  nvml::Api api;
  std::vector<Gpu> gpus;
  bool numbers_are_nvmls = false;

  void take(Gpu gpu, size_t number) {
    gpu.number = number;
    gpu.prefix = "system/gpu." + std::to_string(number) + ".";
    gpus.push_back(std::move(gpu));
  }
  void choose(const std::vector<Gpu>& all);

  // Every call of the library goes through here. False: it is not there, or failed.
  template <typename F, typename... Args>
  bool call(const char* name, F function, Args... args) {
    if (function == nullptr) return false;
    watch(name);
    const int code = function(args...);
    watch(nullptr);
    return code == nvml::kSuccess;
  }

  // What this process has of a GPU; nullopt: the driver does not say.
  std::optional<unsigned long long> own_memory(nvml::Device device) {  // NOLINT(google-runtime-int)
    nvml::Process processes[nvml::kProcessesMax];
    unsigned count = nvml::kProcessesMax;
    if (!call("nvmlDeviceGetComputeRunningProcesses_v3", api.processes, device, &count, &processes[0]))
      return std::nullopt;
    for (unsigned i = 0; i < std::min(count, nvml::kProcessesMax); ++i)
      if (processes[i].pid == static_cast<unsigned>(::getpid()) && processes[i].memory != nvml::kNotKnown)
        return processes[i].memory;
    return std::nullopt;
  }
};

GpuSampler::GpuSampler(GpuOptions options, Watch watch) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->watch = std::move(watch);
}
GpuSampler::~GpuSampler() = default;  // the library stays loaded: unloading a driver at exit is how processes hang

bool GpuSampler::open() {
  Impl& self = *impl_;
  self.watch("dlopen");
  void* library = ::dlopen(self.options.library_name().c_str(), RTLD_NOW | RTLD_LOCAL);
  self.watch(nullptr);
  if (library == nullptr || !self.api.load([library](const char* name) { return ::dlsym(library, name); }))
    return false;
  unsigned count = 0;
  if (!self.call("nvmlInit_v2", self.api.init) || !self.call("nvmlDeviceGetCount_v2", self.api.count, &count))
    return false;
  std::vector<Impl::Gpu> all;
  for (unsigned i = 0; i < count && all.size() < kGpusMax; ++i) {
    Impl::Gpu gpu;
    char text[nvml::kTextBytes] = "";
    if (!self.call("nvmlDeviceGetHandleByIndex_v2", self.api.by_index, i, &gpu.device)) continue;
    if (self.call("nvmlDeviceGetUUID", self.api.uuid, gpu.device, text, nvml::kTextBytes)) gpu.uuid = as_utf8(text);
    if (self.call("nvmlDeviceGetName", self.api.name, gpu.device, text, nvml::kTextBytes)) gpu.name = as_utf8(text);
    all.push_back(std::move(gpu));
  }
  self.choose(all);
  return !self.gpus.empty();
}

// Of `all`, which are in NVML's order, those of this process, in CUDA's.
void GpuSampler::Impl::choose(const std::vector<Gpu>& all) {
  if (const auto ordered = uuids_in_cuda_order(options.cuda_library, watch)) {
    for (size_t number = 0; number < ordered->size(); ++number)
      for (const Gpu& gpu : all)
        if (gpu.uuid == (*ordered)[number]) take(gpu, number);
    if (!gpus.empty() || ordered->empty()) return;
  }
  std::vector<std::string> uuids;
  for (const Gpu& gpu : all) uuids.push_back(gpu.uuid);
  for (const size_t place : visible_gpus(options.visible, uuids)) take(all[place], gpus.size());
  const bool one_kind = std::all_of(all.begin(), all.end(), [&](const Gpu& gpu) { return gpu.name == all[0].name; });
  const bool by_uuid = options.visible && trimmed(*options.visible).starts_with("GPU-");
  numbers_are_nvmls = !one_kind && !by_uuid && options.order != "PCI_BUS_ID";
}

Value GpuSampler::describe() {
  Impl& self = *impl_;
  char driver[nvml::kTextBytes] = "";
  Value::List devices;
  for (const Impl::Gpu& gpu : self.gpus) {
    Value device = Value::Map{{"index", static_cast<int64_t>(gpu.number)}, {"name", gpu.name}, {"uuid", gpu.uuid}};
    nvml::Memory memory{};
    if (self.call("nvmlDeviceGetMemoryInfo", self.api.memory, gpu.device, &memory))
      device.set("memory_bytes", static_cast<int64_t>(memory.total));
    devices.push_back(std::move(device));
  }
  Value out = Value::map();
  if (self.call("nvmlSystemGetDriverVersion", self.api.driver, driver, nvml::kTextBytes))
    out.set("driver", as_utf8(driver));
  out.set("devices", std::move(devices));
  if (self.numbers_are_nvmls) out.set("numbering", "nvml");
  return out;
}

std::vector<SystemValue> GpuSampler::look() {
  Impl& self = *impl_;
  const nvml::Api& api = self.api;
  std::vector<SystemValue> out;
  for (const Impl::Gpu& gpu : self.gpus) {
    const auto add = [&](const char* name, double value) { out.push_back({gpu.prefix + name, value}); };
    nvml::Utilization use{};
    nvml::Memory memory{};
    unsigned number = 0;
    unsigned long long errors = 0;  // NOLINT(google-runtime-int): the library's own type
    if (self.call("nvmlDeviceGetUtilizationRates", api.utilization, gpu.device, &use))
      add("utilization.percent", use.gpu), add("memory.activity.percent", use.memory);
    if (self.call("nvmlDeviceGetMemoryInfo", api.memory, gpu.device, &memory))
      add("memory.used.bytes", static_cast<double>(memory.used));
    if (const auto bytes = self.own_memory(gpu.device)) add("process.memory.bytes", static_cast<double>(*bytes));
    if (self.call("nvmlDeviceGetPowerUsage", api.power, gpu.device, &number)) add("power.watts", number * 1e-3);
    if (self.call("nvmlDeviceGetTemperature", api.temperature, gpu.device, nvml::kCore, &number))
      add("temperature.celsius", number);
    if (self.call("nvmlDeviceGetClockInfo", api.clock, gpu.device, nvml::kSmClock, &number))
      add("clock.sm.mhz", number);
    if (self.call("nvmlDeviceGetClockInfo", api.clock, gpu.device, nvml::kMemoryClock, &number))
      add("clock.memory.mhz", number);
    for (const auto& [name, kind] :
         {std::pair("ecc.corrected", nvml::kCorrected), {"ecc.uncorrected", nvml::kUncorrected}})
      if (self.call("nvmlDeviceGetTotalEccErrors", api.ecc, gpu.device, kind, nvml::kSinceBoot, &errors))
        add(name, static_cast<double>(errors));
  }
  return out;
}

}  // namespace tracker::internal
