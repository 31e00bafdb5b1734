#include "supervisor/policy/choose_parts.hpp"

#include <gtest/gtest.h>

#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

std::string refused(const PartsChoice& choice) {
  const Result<Parts> parts = choose_parts(choice);
  return parts ? "accepted" : to_string(parts.error());
}

/// `ordering sharing backfill fitting`, and the actions by their number.
std::string text_of(const PartsChoice& choice) {
  const Result<Parts> parts = choose_parts(choice);
  if (!parts) return to_string(parts.error());
  const PartsChoice words = words_of(*parts);
  std::string text = words.ordering + " " + words.sharing + " " + words.backfill + " " + words.fitting;
  for (std::uint32_t i = 0; i < parts->action_count; ++i)
    text += " " + std::to_string(static_cast<int>(parts->actions[i]));
  return text;
}

TEST(ChooseParts, WithoutAWordThePresetIsAsItIs) {
  for (const Preset* each = presets(); !each->name.empty(); ++each) {
    const Result<Parts> parts = choose_parts({.preset = std::string{each->name}});
    ASSERT_TRUE(parts) << each->name << ": " << to_string(parts.error());
    EXPECT_EQ(parts->ordering, each->parts.ordering) << each->name;
    EXPECT_EQ(parts->sharing, each->parts.sharing) << each->name;
    EXPECT_EQ(parts->actions, each->parts.actions) << each->name;
    EXPECT_EQ(parts->action_count, each->parts.action_count) << each->name;
    EXPECT_EQ(parts->gpu_fitting, each->parts.gpu_fitting) << each->name;
    EXPECT_EQ(parts->cpu_fitting, each->parts.cpu_fitting) << each->name;
    EXPECT_EQ(parts->reserve_depth, each->parts.reserve_depth) << each->name;
    EXPECT_EQ(parts->preemption, each->name != "priority") << each->name;
  }
}

TEST(ChooseParts, PresetsAreNamedCombinations) {
  EXPECT_EQ(text_of({.preset = "fair_share", .sharing = "max_min"}), text_of({.preset = "fair_share_max_min"}));
  EXPECT_EQ(text_of({.preset = "fair_share", .ordering = "priority", .sharing = "none"}),
            text_of({.preset = "priority"}));
  EXPECT_EQ(text_of({.preset = "fair_share", .ordering = "priority", .sharing = "quota_tree"}),
            text_of({.preset = "quota"}));
  EXPECT_EQ(text_of({.preset = "priority", .ordering = "multifactor", .backfill = "easy"}),
            text_of({.preset = "multifactor"}));
}

TEST(ChooseParts, WhatIsSaidReplacesWhatThePresetHas) {
  EXPECT_EQ(text_of({.preset = "multifactor", .ordering = "fcfs", .backfill = "conservative", .fitting = "worst"}),
            "fcfs none conservative worst 2");
  EXPECT_EQ(text_of({.preset = "priority", .backfill = "fcfs"}), "priority none fcfs best 2");
  EXPECT_EQ(text_of({.preset = "quota", .fitting = "spread", .reclaim = false, .consolidation = false}),
            "priority quota_tree none spread 3 6 7");
  EXPECT_EQ(choose_parts({.preset = "quota", .fitting = "spread"})->device_fitting, Fitting::Spread);
  EXPECT_EQ(choose_parts({.preset = "quota"})->device_fitting, Fitting::BinPack);
  EXPECT_EQ(text_of({.preset = "quota"}), "priority quota_tree none fragmentation 3 4 5 6 7");
  EXPECT_EQ(text_of({.preset = "quota", .fitting = "binpack"}), "priority quota_tree none binpack 3 4 5 6 7");
  EXPECT_EQ(text_of({.preset = "multifactor", .reserve_depth = 3}), "multifactor none 3 best 2");
  EXPECT_EQ(text_of({.preset = "fair_share", .ordering = "fcfs", .sharing = "none", .reserve_depth = 3}),
            "fcfs none 3 best 2");
  EXPECT_EQ(choose_parts({.preset = "multifactor", .backfill = "fcfs", .reserve_depth = 3})->reserve_depth, 0U);
}

TEST(ChooseParts, PreemptionIsOffOnlyWhereJobsGoByPriorityAlone) {
  EXPECT_FALSE(choose_parts({.preset = "fair_share", .ordering = "priority", .sharing = "none"})->preemption);
  EXPECT_TRUE(choose_parts({.preset = "priority", .preemption = true})->preemption);
  EXPECT_FALSE(choose_parts({.preset = "quota", .preemption = false})->preemption);
  EXPECT_TRUE(choose_parts({.preset = "priority", .ordering = "fcfs", .backfill = "easy"})->preemption);
}

TEST(ChooseParts, AWordThatNobodyKnowsIsNamedWithTheNearest) {
  EXPECT_EQ(refused({.preset = "quta"}), "preset 'quta': no policy has this name (did you mean 'quota'?)");
  EXPECT_EQ(refused({.preset = "quota", .ordering = "priorty"}),
            "ordering 'priorty': is none of its words (did you mean 'priority'?)");
  EXPECT_EQ(refused({.preset = "quota", .sharing = "alike"}),
            "sharing 'alike': is none of its words (use one of none, fair_share, max_min, quota_tree)");
  EXPECT_EQ(refused({.preset = "quota", .backfill = "hard"}),
            "backfill 'hard': is none of its words (use one of none, fcfs, easy, conservative)");
  EXPECT_EQ(refused({.preset = "quota", .fitting = "tight"}),
            "fitting 'tight': is none of its words (use one of best, worst, fragmentation, binpack, spread)");
}

TEST(ChooseParts, PartsThatDoNotGoTogetherAreRefusedWithWhatDoes) {
  EXPECT_NE(
      refused({.preset = "fair_share", .ordering = "priority"}).find("say ordering = \"fcfs\", or sharing = \"none\""),
      std::string::npos);
  EXPECT_NE(
      refused({.preset = "quota", .ordering = "multifactor"})
          .find("ordering 'multifactor': does not go with sharing 'quota_tree', where the jobs of a project go by "
                "priority"),
      std::string::npos);
  EXPECT_NE(refused({.preset = "fair_share", .backfill = "easy"}).find("backfill 'easy': does not go with sharing"),
            std::string::npos);
  EXPECT_NE(refused({.preset = "multifactor", .backfill = "none"}).find("no setting says which jobs may pass its head"),
            std::string::npos);
  EXPECT_NE(refused({.preset = "priority", .backfill = "easy", .preemption = true}).find("say preemption = false"),
            std::string::npos);
  EXPECT_NE(refused({.preset = "multifactor", .preemption = true}).find("reserved starts wait for slots to be free"),
            std::string::npos);
  EXPECT_NE(refused({.preset = "quota", .fitting = "worst"}).find("say fitting = \"spread\""), std::string::npos);
  EXPECT_NE(refused({.preset = "quota", .fitting = "best"}).find("say fitting = \"fragmentation\""), std::string::npos);
  EXPECT_NE(refused({.preset = "fair_share", .fitting = "fragmentation"}).find("say fitting = \"best\""),
            std::string::npos);
  EXPECT_NE(refused({.preset = "fair_share", .fitting = "binpack"}).find("say fitting = \"best\""), std::string::npos);
  EXPECT_NE(refused({.preset = "priority", .reclaim = false}).find("reclaim: is a part of sharing 'quota_tree'"),
            std::string::npos);
  EXPECT_NE(refused({.preset = "multifactor", .consolidation = true}).find("leave it out"), std::string::npos);
}

// Every combination is either refused or a policy that passes run with.
TEST(ChooseParts, WhateverIsAcceptedRuns) {
  int accepted = 0;
  for (const char* sharing : {"none", "fair_share", "max_min", "quota_tree"})
    for (const char* ordering : {"fcfs", "priority", "multifactor"})
      for (const char* backfill : {"none", "fcfs", "easy", "conservative"})
        for (const char* fitting : {"best", "worst", "fragmentation", "binpack", "spread"}) {
          const Result<Parts> parts = choose_parts({.preset = "fair_share",
                                                    .ordering = ordering,
                                                    .sharing = sharing,
                                                    .backfill = backfill,
                                                    .fitting = fitting});
          if (!parts) continue;
          ++accepted;
          PartsChoice words = words_of(*parts);
          words.preset = "quota";
          EXPECT_EQ(text_of(words), text_of({.preset = "fair_share",
                                             .ordering = ordering,
                                             .sharing = sharing,
                                             .backfill = backfill,
                                             .fitting = fitting}));
          Snapshot snapshot;
          snapshot.bands.push_back({.name = "band", .slots = 1, .capacity = {0, 0, 1000}, .device_memory_mib = 1000});
          snapshot.projects.push_back({.name = "project"});
          for (ResourceShare& share : snapshot.projects[0].shares) share = {kUnlimited, kUnlimited, 1000, 0};
          snapshot.workloads.push_back({.name = "job", .project = 0});
          snapshot.members.push_back({.name = "job.0", .slots = 1, .request = {0, 0, 1000}});
          EXPECT_EQ(PolicyEngine{{*parts}}.pass(snapshot).starts.size(), 1U)
              << sharing << " " << ordering << " " << backfill << " " << fitting;
        }
  // Shares 2 (fittings), twice; quotas 3; queues: 10 of ordering and backfill, and fittings.
  EXPECT_EQ(accepted, 2 * 2 + 3 + 10 * 2);
}

}  // namespace
}  // namespace penstock::policy
