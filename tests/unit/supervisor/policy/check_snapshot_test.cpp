#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

Snapshot good() {
  PolicyBuilder builder;
  builder.band(1);
  builder.workload("one");
  builder.waiting(1);
  builder.snapshot.projects.resize(2);
  builder.snapshot.projects[1].parent = 0;
  builder.snapshot.share_nodes = {{.name = "p"}, {.name = "u", .parent = 0}};
  builder.snapshot.workloads[0].share_node = 1;
  return builder.snapshot;
}

/// The member of the good one in parts, on its only list.
void divide(Snapshot& it, std::vector<MemberPart> parts) {
  it.band_lists = {{0}};
  it.members[0].band_list = it.members[0].part_list = 0;
  it.part_lists = {std::move(parts)};
}

TEST(CheckSnapshot, AcceptsWhatIsRight) {
  EXPECT_TRUE(check_snapshot(good()));
  Snapshot edge = good();
  edge.members[0].slots = edge.bands[0].capacity.memory = std::int64_t{1} << 48;
  edge.band_lists = {{0, kNone}};  // A wish for a band that is not here.
  edge.members[0].band_list = 0;
  EXPECT_TRUE(check_snapshot(edge));
  Snapshot parts = good();
  divide(parts, {{0, 1}});
  EXPECT_TRUE(check_snapshot(parts));
}

TEST(CheckSnapshot, RefusesWhatIsWrong) {
  const std::pair<const char*, void (*)(Snapshot&)> wrong[] = {
      {"circle", [](Snapshot& it) { it.projects[0].parent = 1; }},
      {"unknown parent", [](Snapshot& it) { it.projects[0].parent = 9; }},
      {"negative", [](Snapshot& it) { it.projects[0].shares[2].guaranteed = -2; }},
      {"not finite", [](Snapshot& it) { it.projects[0].shares[0].usage = std::numeric_limits<double>::infinity(); }},
      {"weight 0", [](Snapshot& it) { it.workloads[0].weight = 0; }},
      {"levels that say nothing of some",
       [](Snapshot& it) {
         it.level_takes = {{false, true}, {false}};
       }},
      {"an owner before its parent", [](Snapshot& it) { it.share_nodes[0].parent = 1; }},
      {"an owner of weight 0", [](Snapshot& it) { it.share_nodes[1].weight = 0; }},
      {"an owner with less than no limit", [](Snapshot& it) { it.share_nodes[1].slots_max = -2; }},
      {"an owner that is not there", [](Snapshot& it) { it.workloads[0].share_node = 2; }},
      {"no part", [](Snapshot& it) { it.members[0].devices = 1; }},
      {"1.5 devices", [](Snapshot& it) { it.members[0].device_share = 1500; }},
      {"a band that is not there", [](Snapshot& it) { it.band_lists = {{7}}; }},
      {"a list that is not there", [](Snapshot& it) { it.members[0].band_list = 0; }},
      {"an empty list", [](Snapshot& it) { it.band_lists = {{}}; }},
      {"parts that are not there", [](Snapshot& it) { it.members[0].part_list = 0; }},
      {"parts without a list of all bands",
       [](Snapshot& it) {
         divide(it, {{0, 1}}), it.members[0].band_list = kNone;
       }},
      {"a part with a list that is not there",
       [](Snapshot& it) {
         divide(it, {{1, 1}});
       }},
      {"a part without slots",
       [](Snapshot& it) {
         divide(it, {{0, 1}, {0, 0}});
       }},
      {"parts of another size",
       [](Snapshot& it) {
         divide(it, {{0, 1}, {0, 1}});
       }},
      {"a list in no order",
       [](Snapshot& it) {
         it.band_lists = {{kNone, 0}};
       }},
      {"a place on one",
       [](Snapshot& it) {
         it.members[0].places = {{7, 1}};
       }},
      {"a promise on one",
       [](Snapshot& it) {
         it.carried = {{0, {{7, 1}}}};
       }},
      {"more than any amount", [](Snapshot& it) { it.members[0].slots = (std::int64_t{1} << 48) + 1; }},
      {"a capacity beyond any", [](Snapshot& it) { it.bands[0].capacity.memory = (std::int64_t{1} << 48) + 1; }},
      {"a guarantee beyond any",
       [](Snapshot& it) { it.projects[0].shares[1].guaranteed = (std::int64_t{1} << 48) + 1; }},
      {"a negative wish", [](Snapshot& it) { it.workloads[0].beyond = -1; }},
      {"a negative minimum", [](Snapshot& it) { it.workloads[0].sets[0].min = -1; }},
      {"parts of 1025 devices",
       [](Snapshot& it) {
         it.members[0].devices = 1025;
         it.members[0].device_share = 500;
       }},
  };
  for (const auto& [name, spoil] : wrong) {
    Snapshot snapshot = good();
    spoil(snapshot);
    EXPECT_FALSE(check_snapshot(snapshot)) << name;
  }
}

TEST(CheckSnapshot, RefusesAmountsElsewhereThatAreNone) {
  Snapshot snapshot = good();
  snapshot.workloads[0].elsewhere = -1;
  EXPECT_FALSE(check_snapshot(snapshot));
}

TEST(CheckSnapshot, RefusesLimitsOfSlotsThatAreNone) {
  for (const SlotLimit& wrong : {SlotLimit{-1, {0}}, {1, {0, 9}}, {1, {1, 0}}}) {
    Snapshot snapshot = good();
    snapshot.slot_limits = {wrong};
    EXPECT_FALSE(check_snapshot(snapshot)) << wrong.slots;
  }
}

}  // namespace
}  // namespace penstock::policy
