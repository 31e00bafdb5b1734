#include "common/host/cgroup.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

constexpr std::string_view kHybridMounts =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:12 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

TEST(Cgroup, VersionOneIsFoundByItsController) {
  const auto found =
      find_cgroup("memory", "9:name=systemd:/x\n4:memory:/jobs/7\n3:cpu,cpuacct:/\n0::/x\n", kHybridMounts);
  EXPECT_EQ(found, (CgroupDirectory{1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/jobs/7"}));
  const auto cpu = find_cgroup("cpu", "3:cpu,cpuacct:/\n0::/x\n", kHybridMounts);
  EXPECT_EQ(cpu, (CgroupDirectory{1, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct"}));
}

TEST(Cgroup, VersionTwoHasOneDirectoryForAll) {
  const auto found = find_cgroup("memory", "0::/system.slice/penstock.service\n",
                                 "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_EQ(found, (CgroupDirectory{2, "/sys/fs/cgroup", "/sys/fs/cgroup/system.slice/penstock.service"}));
}

TEST(Cgroup, ContainerSeesItsOwnGroupAtTheTop) {
  const auto found = find_cgroup("memory", "4:memory:/docker/abc\n",
                                 "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  EXPECT_EQ(found, (CgroupDirectory{1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"}));
}

TEST(Cgroup, NoneIsFoundInNonsense) {
  EXPECT_EQ(find_cgroup("memory", "", ""), std::nullopt);
  EXPECT_EQ(find_cgroup("memory", "garbage\n::::\n", "more garbage\n - cgroup2\n"), std::nullopt);
  EXPECT_EQ(find_cgroup("memory", "0::/x\n", kHybridMounts.substr(0, 40)), std::nullopt);
}

TEST(Cgroup, CpuLimitsAreRead) {
  EXPECT_EQ(parse_cpu_max("150000 100000\n"), MilliCpu{1500});
  EXPECT_EQ(parse_cpu_max("max 100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_max(""), std::nullopt);
  EXPECT_EQ(parse_cpu_max("100000 0\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_quota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(parse_cpu_quota("200000\n", "100000\n"), MilliCpu{2000});
}

TEST(Cgroup, MemoryLimitsAreRead) {
  EXPECT_EQ(parse_memory_limit("1073741824\n"), kGiB);
  EXPECT_EQ(parse_memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(parse_memory_limit("9223372036854771712\n"), std::nullopt) << "version 1 says so for: none";
  EXPECT_EQ(parse_memory_limit("99999999999999999999999\n"), std::nullopt);
}

TEST(Cgroup, CounterIsFoundByItsName) {
  EXPECT_EQ(parse_counter("oom_kill_disable 1\nunder_oom 0\noom_kill 3\n", "oom_kill"), 3);
  EXPECT_EQ(parse_counter("low 0\n", "oom_kill"), 0);
}

class CgroupTree : public ::testing::Test {
 protected:
  void write(const std::string& path, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path{root + path}.parent_path());
    std::ofstream{root + path} << text;
  }
  const ScratchDirectory scratch;
  const std::string root = scratch.path();
};

TEST_F(CgroupTree, TheTightestLimitOnTheWayUpCounts) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  write("/sys/fs/cgroup/a/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.max", "2147483648\n");
  EXPECT_EQ(read_cgroup_limits(root), (CgroupLimits{MilliCpu{1000}, kGiB * 2}));
}

TEST_F(CgroupTree, VersionOneHasItsOwnFiles) {
  write("/proc/self/cgroup", "4:memory:/m\n3:cpu:/c\n");
  write("/proc/self/mountinfo",
        "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup "
        "cgroup rw,memory\n");
  write("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(read_cgroup_limits(root), (CgroupLimits{MilliCpu{500}, kGiB}));
}

TEST_F(CgroupTree, WithoutGroupsThereIsNoLimit) { EXPECT_EQ(read_cgroup_limits(root), CgroupLimits{}); }

}  // namespace
}  // namespace penstock
