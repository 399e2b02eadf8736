// SPDX-License-Identifier: MIT
// Replaces libcuda.so.1: knows the two GPUs of nvml_stub.cc in the other order, once cuInit() was called.
#include <cstring>

namespace {
bool g_begun = false;
}

#define STUB extern "C" __attribute__((visibility("default"))) int

STUB cuInit(unsigned) {
  g_begun = true;
  return 0;
}
STUB cuDeviceGetCount(int* count) {
  *count = 2;
  return g_begun ? 0 : 3;  // CUDA_ERROR_NOT_INITIALIZED
}
STUB cuDeviceGet(int* device, int ordinal) {
  *device = 70 + ordinal;
  return g_begun ? 0 : 3;
}
STUB cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  std::memset(uuid, 0, 16);
  uuid[0] = device == 70 ? 0x20 : 0x10;
  uuid[4] = uuid[5] = 0xaa;
  return g_begun ? 0 : 3;
}
