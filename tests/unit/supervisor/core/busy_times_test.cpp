#include "supervisor/core/busy_times.hpp"

#include <gtest/gtest.h>

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {
namespace {

PolicyConfig config_of(const std::vector<std::string>& projects, const std::vector<std::string>& pools) {
  PolicyConfig config;
  for (const std::string& name : projects) config.projects.emplace_back().name = name;
  for (const std::string& name : pools) config.pools.emplace_back().name = name;
  return config;
}

TEST(BusyTimes, WithoutAPolicyThereIsOneRowOfEachKind) {
  BusyTimes busy;
  busy.add(~std::uint32_t{0}, ~std::uint32_t{0}, BandKind::Cpu, 5);
  busy.add(~std::uint32_t{0}, ~std::uint32_t{0}, BandKind::Gpu, 7);
  ASSERT_EQ(busy.rows().size(), 2U);
  EXPECT_EQ(busy.rows()[0].project + busy.rows()[0].pool, "");
  EXPECT_EQ(busy.rows()[1].slot_us, 7U);
}

TEST(BusyTimes, NamesKeepTheirTimesWhenPositionsChange) {
  BusyTimes busy;
  busy.set_names(config_of({"a", "b"}, {"p"}));
  busy.add(0, 0, BandKind::Cpu, 1);
  busy.add(1, 0, BandKind::Cpu, 10);
  busy.set_names(config_of({"b"}, {"q", "p"}));
  busy.add(0, 1, BandKind::Cpu, 100);
  ASSERT_EQ(busy.rows().size(), 2U);
  EXPECT_EQ(busy.rows()[0].slot_us, 1U);
  EXPECT_EQ(busy.rows()[1].project, "b");
  EXPECT_EQ(busy.rows()[1].slot_us, 110U);
}

TEST(BusyTimes, RowsBeyondTheMostShareOne) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < BusyTimes::kRowsMax + 5; ++i) names.push_back("p" + std::to_string(i));
  BusyTimes busy;
  busy.set_names(config_of(names, {}));
  for (std::uint32_t i = 0; i < names.size(); ++i) busy.add(i, 0, BandKind::Cpu, 1);
  ASSERT_EQ(busy.rows().size(), BusyTimes::kRowsMax);
  EXPECT_EQ(busy.rows()[BusyTimes::kRowsMax - 2].project, "p" + std::to_string(BusyTimes::kRowsMax - 2));
  EXPECT_EQ(busy.rows().back().project, BusyTimes::kOther);
  EXPECT_EQ(busy.rows().back().slot_us, 6U);
  // Rows that are there stay what they are.
  busy.set_names(config_of(names, {}));
  busy.add(3, 0, BandKind::Cpu, 1);
  EXPECT_EQ(busy.rows()[3].slot_us, 2U);
}

}  // namespace
}  // namespace penstock::supervisor
