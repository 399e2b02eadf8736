// SPDX-License-Identifier: MIT
// Goal: what a machine and a container say of themselves is read from both versions of cgroups, and what they do not
// say is left out. Method: folders of our own in the place of /sys/fs/cgroup; the machine of the test.
#include "monitor/host/host.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "monitor/host/launcher.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

class HostTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_.path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::string limits(const std::string& own) { return to_json(container_limits(folder_.path(), own)); }
  TempFolder folder_;
};

TEST_F(HostTest, ThisMachineSaysWhatItIs) {
  const Value host = host_facts();
  EXPECT_NE(host.text_or("hostname", ""), "");
  EXPECT_NE(host.text_or("kernel", "").find("Linux"), std::string::npos);
  EXPECT_GE(host.int_or("cpus", 0), host.int_or("cpus_usable", 1));
  EXPECT_GT(host.int_or("memory_bytes", 0), 1 << 20);
}

TEST_F(HostTest, OfCgroupsOfVersion2TheTightestLimitOfAllAboveCounts) {
  put("cgroup.controllers", "cpu memory");
  put("pod/box/cpu.max", "max 100000");
  put("pod/cpu.max", "250000 100000");
  put("pod/box/memory.max", "max");
  put("pod/memory.max", "4294967296");
  put("pod/box/cpuset.cpus.effective", "0-3");
  EXPECT_EQ(limits("0::/pod/box\n"), R"({"cgroup":2,"cpu_quota":2.5,"memory_max_bytes":4294967296,"cpuset":"0-3"})");
  EXPECT_EQ(limits("0::/elsewhere\n"), "{}");
}

TEST_F(HostTest, OfVersion1EachControllerHasItsOwnTree) {
  put("cpu/pod/cpu.cfs_quota_us", "150000");
  put("cpu/pod/cpu.cfs_period_us", "100000");
  put("cpu/cpu.cfs_quota_us", "-1");
  put("cpu/cpu.cfs_period_us", "100000");
  put("memory/pod/memory.limit_in_bytes", "1073741824");
  put("memory/memory.limit_in_bytes", "9223372036854771712");
  put("cpuset/pod/cpuset.cpus", "1,3");
  EXPECT_EQ(limits("4:cpu,cpuacct:/pod\n3:memory:/pod\n2:cpuset:/pod\n"),
            R"({"cgroup":1,"cpu_quota":1.5,"memory_max_bytes":1073741824,"cpuset":"1,3"})");
}

TEST_F(HostTest, VariablesOfTheListAloneAreTakenAndNoneOfASecretForm) {
  ::setenv("SLURM_JOB_ID", "4711", 1);
  ::setenv("SLURM_JOB_NAME", "uses AKIAIOSFODNN7EXAMPLE", 1);
  ::setenv("MASTER_ADDR", std::string(2 * kLauncherValueBytesMax, 'x').c_str(), 1);
  ::setenv("SLURM_SPECIAL_OF_THE_SITE", "1", 1);
  const Value value = launcher_variables();
  EXPECT_EQ(value.text_or("SLURM_JOB_ID", ""), "4711");
  EXPECT_EQ(value.text_or("SLURM_JOB_NAME", ""), "uses [redacted]");
  EXPECT_EQ(value.text_or("MASTER_ADDR", "").size(), kLauncherValueBytesMax + 3);
  EXPECT_EQ(value.find("SLURM_SPECIAL_OF_THE_SITE"), nullptr);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NAME", "MASTER_ADDR", "SLURM_SPECIAL_OF_THE_SITE"})
    ::unsetenv(name);
}

}  // namespace
}  // namespace tracker::internal
