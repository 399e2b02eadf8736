// SPDX-License-Identifier: MIT
// Goal: what the management library says becomes series and facts; one that fails costs nothing. Method: a library of
// our own that is loaded as a driver's is.
#include "monitor/host/gpu.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace tracker::internal {
namespace {

GpuSampler sampler(const char* mode, std::optional<std::string> visible = std::nullopt, int* calls = nullptr) {
  ::setenv("NVML_STUB_MODE", mode, 1);
  return {{NVML_STUB, std::move(visible)}, [calls](const char* call) {
            if (calls != nullptr && call != nullptr) ++*calls;
          }};
}

std::map<std::string, double> by_name(const std::vector<SystemValue>& values) {
  std::map<std::string, double> out;
  for (const SystemValue& each : values) out[each.name] = each.value;
  return out;
}

TEST(GpuTest, EveryGpuIsNamedAndSampledInTheUnitsOfItsSeries) {
  int calls = 0;
  GpuSampler gpu = sampler("normal", std::nullopt, &calls);
  ASSERT_TRUE(gpu.open());
  EXPECT_EQ(to_json(gpu.describe()),
            R"({"driver":"555.42","devices":[)"
            R"({"index":0,"name":"Stub GPU","uuid":"GPU-10000000-aaaa-0000-0000-000000000000","memory_bytes":1000},)"
            R"({"index":1,"name":"Stub GPU","uuid":"GPU-20000000-aaaa-0000-0000-000000000000","memory_bytes":1000}]})");
  const auto values = by_name(gpu.look());
  EXPECT_EQ(values.size(), 20u);
  EXPECT_EQ(values.at("system/gpu.1.utilization.percent"), 41);
  EXPECT_EQ(values.at("system/gpu.0.memory.used.bytes"), 250);
  EXPECT_EQ(values.at("system/gpu.0.process.memory.bytes"), 123);
  EXPECT_EQ(values.at("system/gpu.0.power.watts"), 250.5);
  EXPECT_EQ(values.at("system/gpu.0.temperature.celsius"), 61);
  EXPECT_EQ(values.at("system/gpu.0.clock.sm.mhz"), 1410);
  EXPECT_EQ(values.at("system/gpu.0.ecc.corrected"), 5);
  EXPECT_GT(calls, 20);
}

TEST(GpuTest, SoManyGpusAndSoManyProcessesOfOneAreLookedAt) {
  for (const char* mode : {"many", "more"}) {
    GpuSampler gpu = sampler(mode);
    ASSERT_TRUE(gpu.open());
    EXPECT_EQ(gpu.describe().find("devices")->as_list()->size(), kGpusMax) << mode;
  }
  GpuSampler crowd = sampler("crowd");  // nvml::kProcessesMax
  ASSERT_TRUE(crowd.open());
  EXPECT_EQ(by_name(crowd.look()).at("system/gpu.0.process.memory.bytes"), 123);
  GpuSampler more = sampler("crowd_more");
  ASSERT_TRUE(more.open());
  EXPECT_EQ(by_name(more.look()).count("system/gpu.0.process.memory.bytes"), 0u);
}

TEST(GpuTest, ALibraryThatFailsOrHasNoGpuOrIsNoneGivesNothing) {
  GpuSampler failing = sampler("fail");
  ASSERT_TRUE(failing.open());
  EXPECT_TRUE(failing.look().empty());
  EXPECT_FALSE(sampler("none").open());
  EXPECT_FALSE(GpuSampler({"/no/such/library.so", std::nullopt}, [](const char*) {}).open());
  EXPECT_FALSE(GpuSampler({"libm.so.6", std::nullopt}, [](const char*) {}).open());
}

TEST(GpuTest, CudaVisibleDevicesChoosesAndOrdersThem) {
  GpuSampler gpu = sampler("normal", "GPU-2");
  ASSERT_TRUE(gpu.open());
  EXPECT_EQ(by_name(gpu.look()).at("system/gpu.0.utilization.percent"), 41);
  EXPECT_FALSE(sampler("normal", "").open());
}

std::string numbering_of(std::optional<std::string> visible, std::string order = {}) {
  ::setenv("NVML_STUB_MODE", "mixed", 1);
  GpuSampler gpu({NVML_STUB, std::move(visible), {}, {}, std::move(order)}, [](const char*) {});
  EXPECT_TRUE(gpu.open());
  return gpu.describe().text_or("numbering", "cuda");
}

// Bug: NVML's numbers, by the bus, were taken for CUDA's, which has the fastest first.
TEST(GpuTest, OfSeveralKindsTheNumbersAreNvmlsUntilCudaIsUsedUnlessItsOrderIsSaid) {
  EXPECT_EQ(numbering_of(std::nullopt), "nvml");
  EXPECT_EQ(numbering_of("1,0"), "nvml");
  EXPECT_EQ(numbering_of("1,0", "PCI_BUS_ID"), "cuda");
  EXPECT_EQ(numbering_of("GPU-2,GPU-1"), "cuda");
}

TEST(GpuTest, TheOrderIsCudasWhereTheProgramUsesItWhichIsNeverBegunForIt) {
  const auto first = [] {
    ::setenv("NVML_STUB_MODE", "mixed", 1);
    GpuSampler gpu({NVML_STUB, std::nullopt, {}, {}, {}, CUDA_STUB}, [](const char*) {});
    EXPECT_TRUE(gpu.open());
    const double use = by_name(gpu.look()).at("system/gpu.0.utilization.percent");
    return gpu.describe().text_or("numbering", "cuda") + " " + std::to_string(static_cast<int>(use));
  };
  EXPECT_EQ(first(), "nvml 40") << "it is not loaded for it";
  void* cuda = ::dlopen(CUDA_STUB, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(cuda, nullptr);
  EXPECT_EQ(first(), "nvml 40") << "nor begun";
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(cuda, "cuInit"));
  ASSERT_NE(init, nullptr);
  init(0);
  EXPECT_EQ(first(), "cuda 41");
  ::dlclose(cuda);
}

TEST(GpuTest, VisibleDevicesAreReadAsCudaReadsThem) {
  const std::vector<std::string> uuids{"GPU-aa1", "GPU-aa2", "GPU-b"};
  const auto of = [&uuids](const char* text) { return visible_gpus(text, uuids); };
  using Places = std::vector<size_t>;
  EXPECT_EQ(visible_gpus(std::nullopt, uuids), (Places{0, 1, 2}));
  EXPECT_EQ(of(""), Places{});
  EXPECT_EQ(of("2,0"), (Places{2, 0}));
  EXPECT_EQ(of("GPU-b, GPU-aa1"), (Places{2, 0}));
  EXPECT_EQ(of("GPU-aa"), Places{}) << "two begin so";
  EXPECT_EQ(of("1,7,0"), (Places{1})) << "what follows one that is none is hidden";
  EXPECT_EQ(of("-1"), Places{});
  EXPECT_EQ(of("MIG-GPU-b/1/0"), Places{});
  EXPECT_EQ(of("0,0"), (Places{0}));
}

TEST(GpuTest, NothingIsLoadedWhereThereIsNoDriver) {
  EXPECT_FALSE((GpuOptions{"off", std::nullopt}).may_open());
  EXPECT_TRUE((GpuOptions{NVML_STUB, std::nullopt}).may_open());
}

}  // namespace
}  // namespace tracker::internal
