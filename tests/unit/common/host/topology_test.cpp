#include "common/host/topology.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace penstock {
namespace {

FoundHost two_nodes() {
  FoundHost host;
  host.nodes = {{0, kGiB * 100, {0, 1, 2, 3}}, {1, kGiB * 100, {4, 5, 6, 7}}};
  return host;
}

FoundGpu gpu(std::uint32_t index, std::int32_t node) {
  return {index, "GPU-" + std::to_string(index), "H200", "0000:1b:00.0", kGiB * 141, node};
}

std::vector<FoundBand> bands_of(const FoundHost& host, const TopologyOptions& options = {}) {
  const Result<std::vector<FoundBand>> bands = make_bands(host, options);
  EXPECT_TRUE(bands.has_value()) << to_string(bands.error());
  return bands.has_value() ? *bands : std::vector<FoundBand>{};
}

TEST(Topology, EachNodeIsABand) {
  const std::vector<FoundBand> bands = bands_of(two_nodes());
  ASSERT_EQ(bands.size(), 2U);
  EXPECT_EQ(bands[1].band.name, "numa-1");
  EXPECT_EQ(bands[1].band.kind, BandKind::Cpu);
  EXPECT_EQ(bands[1].band.numa_node, 1U);
  EXPECT_EQ(bands[1].band.capacity.slots, kOneSlot * 4);
  EXPECT_EQ(bands[1].band.capacity.cpu, MilliCpu{4000});
  EXPECT_EQ(bands[1].band.capacity.memory, kGiB * 90);
  EXPECT_EQ(bands[1].band.memory_hard_limit, kGiB * 100);
  EXPECT_EQ(bands[1].processors, (std::vector<int>{4, 5, 6, 7}));
}

TEST(Topology, LimitsOfTheControlGroupAreDivided) {
  FoundHost host = two_nodes();
  host.limits.cpu = MilliCpu{2500};
  host.limits.memory = kGiB * 10;
  const std::vector<FoundBand> bands = bands_of(host);
  EXPECT_EQ(bands[0].band.capacity.slots, kOneSlot * 2) << "2.5 processors are three slots";
  EXPECT_EQ(bands[1].band.capacity.slots, kOneSlot * 1);
  EXPECT_EQ(bands[0].band.capacity.cpu + bands[1].band.capacity.cpu, MilliCpu{2500});
  EXPECT_EQ(bands[0].band.memory_hard_limit, kGiB * 5);
}

TEST(Topology, SmallQuotaLeavesOneSlotOnOneBand) {
  FoundHost host = two_nodes();
  host.limits.cpu = MilliCpu{100};
  const std::vector<FoundBand> bands = bands_of(host);
  ASSERT_EQ(bands.size(), 1U);
  EXPECT_EQ(bands[0].band.capacity.slots, kOneSlot);
}

TEST(Topology, AllGpusAreOneBandIfTheyAreOfferedTogether) {
  FoundHost host = two_nodes();
  host.gpus = {gpu(0, 1), gpu(1, 1), gpu(2, -1)};
  host.gpus[1].linked = 1;
  TopologyOptions options;
  options.gpus_together = true;
  const std::vector<FoundBand> bands = bands_of(host, options);
  ASSERT_EQ(bands.size(), 3U);
  const FoundBand& found = bands[2];
  EXPECT_EQ(found.band.name, "gpus");
  EXPECT_EQ(found.band.capacity.slots, kOneSlot * 3);
  EXPECT_EQ(found.band.capacity.gpu, MilliGpu{3000});
  EXPECT_EQ(found.band.capacity.device_memory, kGiB * 141 * 3);
  ASSERT_EQ(found.band.devices.size(), 3U);
  EXPECT_EQ(found.band.devices[1].uuid, "GPU-1");
  EXPECT_EQ(found.band.devices[1].linked, 1U);
  EXPECT_EQ(found.band.devices[2].numa_node, 0U);
  EXPECT_EQ(found.processors.size(), host.nodes[0].processors.size() + host.nodes[1].processors.size());
  Bytes memory;
  for (const FoundBand& band : bands) memory += band.band.memory_hard_limit;
  EXPECT_NEAR(static_cast<double>(memory.value()), 200.0 * (1 << 30), 1 << 20) << "nothing is given twice or lost";
  host.gpus.resize(kBandDevicesMax + 1, gpu(3, 0));
  EXPECT_FALSE(make_bands(host, options).has_value());
}

TEST(Topology, EachGpuIsABandBesideItsNode) {
  FoundHost host = two_nodes();
  host.gpus = {gpu(0, 1), gpu(1, 1), gpu(2, -1)};
  const std::vector<FoundBand> bands = bands_of(host);
  ASSERT_EQ(bands.size(), 5U);
  const FoundBand& second = bands[3];
  EXPECT_EQ(second.band.name, "gpu-1");
  EXPECT_EQ(second.band.kind, BandKind::Gpu);
  EXPECT_EQ(second.band.numa_node, 1U);
  EXPECT_EQ(second.band.capacity.slots, kOneSlot);
  EXPECT_EQ(second.band.capacity.gpu, MilliGpu{1000});
  EXPECT_EQ(second.band.capacity.device_memory, kGiB * 141);
  EXPECT_EQ(second.band.devices.front().uuid, "GPU-1");
  EXPECT_EQ(second.processors, host.nodes[1].processors);
  EXPECT_EQ(bands[4].band.numa_node, 0U) << "unknown: the first";
  Bytes memory;
  for (const FoundBand& band : bands) memory += band.band.memory_hard_limit;
  EXPECT_EQ(memory, kGiB * 200) << "nothing is given twice or lost";
  EXPECT_NEAR(static_cast<double>(second.band.memory_hard_limit.value()), 25.0 * (1 << 30), 1 << 20);
  TopologyOptions without;
  without.gpus = false;
  EXPECT_EQ(bands_of(host, without).size(), 2U);
}

TEST(Topology, SlotsAndMemoryCanBeTold) {
  TopologyOptions options;
  options.slots = 3;
  options.memory = kGiB;
  const std::vector<FoundBand> bands = bands_of(two_nodes(), options);
  ASSERT_EQ(bands.size(), 2U);
  EXPECT_EQ(bands[0].band.capacity.slots, kOneSlot * 2);
  EXPECT_EQ(bands[1].band.capacity.slots, kOneSlot * 1);
  EXPECT_EQ(bands[0].band.capacity.memory, kMiB * 512);
  EXPECT_EQ(bands[0].band.memory_hard_limit, kMiB * 512);
  options.slots = 1;
  EXPECT_EQ(bands_of(two_nodes(), options).size(), 1U) << "a band without slots is none";
}

TEST(Topology, BandsCanBeCutWithoutRegardToNodes) {
  TopologyOptions options;
  options.cpu_bands = 1;
  std::vector<FoundBand> bands = bands_of(two_nodes(), options);
  ASSERT_EQ(bands.size(), 1U);
  EXPECT_EQ(bands[0].processors.size(), 8U);
  EXPECT_EQ(bands[0].band.memory_hard_limit, kGiB * 200);
  options.cpu_bands = 3;
  bands = bands_of(two_nodes(), options);
  ASSERT_EQ(bands.size(), 3U);
  EXPECT_EQ(bands[0].processors, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(bands[2].processors, (std::vector<int>{6, 7}));
  options.cpu_bands = 16;
  options.slots = 16;
  EXPECT_EQ(bands_of(two_nodes(), options).size(), 16U) << "they share processors";
}

TEST(Topology, BandsOfTheConfigurationChangeAddAndRemove) {
  TopologyOptions options;
  BandOverride changed{.name = "numa-0"};
  changed.slots = 9;
  changed.memory = kGiB;
  changed.memory_hard_limit = kGiB * 2;
  changed.named = {{"licence", 2}};
  BandOverride removed{.name = "numa-1"};
  removed.disabled = true;
  BandOverride added{.name = "extra"};
  added.slots = 1;
  added.memory = kGiB;
  added.processors = std::vector<int>{7};
  options.bands = {changed, removed, added};
  const std::vector<FoundBand> bands = bands_of(two_nodes(), options);
  ASSERT_EQ(bands.size(), 2U);
  EXPECT_EQ(bands[0].band.capacity.slots, kOneSlot * 9);
  EXPECT_EQ(bands[0].band.memory_hard_limit, kGiB * 2);
  EXPECT_EQ(amount_of(bands[0].band.capacity.named, "licence"), 2);
  EXPECT_EQ(bands[1].band.name, "extra");
  EXPECT_EQ(bands[1].processors, std::vector<int>{7});
}

TEST(Topology, ContradictionsAreRefused) {
  TopologyOptions options;
  options.bands = {BandOverride{.name = "unknown"}};
  EXPECT_EQ(make_bands(two_nodes(), options).error().subject, "unknown");
  options.bands = {BandOverride{.name = "numa-0"}};
  options.bands[0].memory = kGiB * 2;
  options.bands[0].memory_hard_limit = kGiB;
  EXPECT_FALSE(make_bands(two_nodes(), options).has_value());
  options.bands = {BandOverride{.name = "numa-0"}, BandOverride{.name = "numa-1"}};
  options.bands[0].disabled = options.bands[1].disabled = true;
  EXPECT_FALSE(make_bands(two_nodes(), options).has_value()) << "none is left";
  options = {};
  options.slots = 70'000;
  EXPECT_FALSE(make_bands(two_nodes(), options).has_value());
  EXPECT_FALSE(make_bands(FoundHost{}, {}).has_value());
}

TEST(Topology, ImaginedHostHasItsNodes) {
  const Result<std::vector<FoundNode>> nodes = find_nodes("numa:2 core:2 pu:2");
  ASSERT_TRUE(nodes.has_value());
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[1].processors, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_GT((*nodes)[1].memory, Bytes{});
  EXPECT_FALSE(find_nodes("not a notation").has_value());
}

TEST(Topology, ThisHostHasABand) {
  TopologyOptions options;
  options.nvml_library = PENSTOCK_FAKE_NVML;
  const Result<std::vector<FoundBand>> bands = find_bands(options);
  ASSERT_TRUE(bands.has_value()) << to_string(bands.error());
  EXPECT_GE(bands->size(), 1U);
  for (const FoundBand& band : *bands) {
    EXPECT_GE(band.band.capacity.slots, kOneSlot);
    EXPECT_GT(band.band.capacity.memory, Bytes{});
    EXPECT_FALSE(band.processors.empty());
  }
}

}  // namespace
}  // namespace penstock
