// SPDX-License-Identifier: MIT
// Replaces libnvidia-ml.so.1: two GPUs with fixed values. NVML_STUB_MODE, read at each call: "hang" sleeps in
// nvmlInit_v2, "hang_later" in the calls of a sample, "slow" takes 20 ms a call, "fail" lets every call but the
// first ones fail, "none" has no GPU, "many" has 64, "more" one more, "crowd" 128
// processes of which this one is the last, "crowd_more" one more, "mixed" two kinds; "abort" and "fault" crash in
// nvmlInit_v2, "crash_later" in the calls of a sample.
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool mode_is(const char* name) {
  const char* mode = std::getenv("NVML_STUB_MODE");
  return mode != nullptr && std::strcmp(mode, name) == 0;
}

void nap(long ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

constexpr long kHangMs = 600'000;

[[noreturn]] void fault() {
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
  std::abort();
}

int begin_sample() {
  if (mode_is("hang_later")) nap(kHangMs);
  if (mode_is("crash_later")) fault();
  if (mode_is("slow")) nap(20);
  return mode_is("fail") ? 3 : 0;  // NVML_ERROR_NOT_SUPPORTED
}

int g_devices[65];  // handles are addresses
int index_of(void* device) { return static_cast<int>(static_cast<int*>(device) - g_devices); }

}  // namespace

#define STUB extern "C" __attribute__((visibility("default"))) int

STUB nvmlInit_v2() {
  if (mode_is("hang")) nap(kHangMs);
  if (mode_is("abort")) std::abort();
  if (mode_is("fault")) fault();
  return 0;
}
STUB nvmlDeviceGetCount_v2(unsigned* count) {
  *count = mode_is("none") ? 0 : mode_is("many") ? 64 : mode_is("more") ? 65 : 2;
  return 0;
}
STUB nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &g_devices[index];
  return 0;
}
STUB nvmlDeviceGetUUID(void* device, char* text, unsigned bytes) {
  std::snprintf(text, bytes, "GPU-%d0000000-aaaa-0000-0000-000000000000", index_of(device) + 1);
  return 0;
}
STUB nvmlDeviceGetName(void* device, char* text, unsigned bytes) {
  std::snprintf(text, bytes, mode_is("mixed") && index_of(device) == 1 ? "Fast GPU" : "Stub GPU");
  return 0;
}
STUB nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::snprintf(text, bytes, "555.42");
  return 0;
}
STUB nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  rates[0] = 40u + static_cast<unsigned>(index_of(device)), rates[1] = 7;
  return begin_sample();
}
STUB nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 1000, memory[1] = 750, memory[2] = 250;
  return mode_is("fail") ? 3 : 0;
}
STUB nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* out) {
  struct Process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu, compute;
  };
  const unsigned room = *count;
  *count = mode_is("crowd") ? 128 : mode_is("crowd_more") ? 129 : 1;
  if (*count > room) return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  for (unsigned i = 0; i < *count; ++i) {
    const Process each{i + 1 == *count ? static_cast<unsigned>(::getpid()) : 0, 123, 0, 0};
    std::memcpy(static_cast<char*>(out) + i * sizeof each, &each, sizeof each);
  }
  return begin_sample();
}
STUB nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 250'500;
  return begin_sample();
}
STUB nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return begin_sample();
}
STUB nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1410 : 2619;
  return begin_sample();
}
STUB nvmlDeviceGetTotalEccErrors(void*, int type, int, unsigned long long* errors) {
  *errors = type == 0 ? 5 : 0;
  return begin_sample();
}
