#include "supervisor/core/waiting_jobs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace penstock::supervisor {
namespace {

using Entry = WaitingJobs::Entry;

std::vector<std::uint32_t> drain(WaitingJobs& waiting) {
  std::vector<std::uint32_t> jobs;
  for (; !waiting.empty(); waiting.erase(0)) jobs.push_back(waiting[0].job.value());
  return jobs;
}

TEST(WaitingJobs, TheHighestPriorityThenWhoHoldsLeastThenTheEarliest) {
  WaitingJobs waiting;
  waiting.push({0, 5, JobId{1}, 0});
  waiting.push({0, 3, JobId{3}, 0});
  waiting.push({7, 9, JobId{4}, 0});
  waiting.push({0, 3, JobId{2}, 0});
  EXPECT_EQ(drain(waiting), (std::vector<std::uint32_t>{4, 2, 3, 1}));
}

TEST(WaitingJobs, EveryEntryHasItsTurnToBeCorrected) {
  WaitingJobs waiting;
  for (std::uint32_t i = 1; i <= 5; ++i) waiting.push({0, i, JobId{i}, 0});
  std::vector<std::size_t> seen;
  for (int i = 0; i < 5; ++i) seen.push_back(waiting.next_to_correct());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(WaitingJobs, WhatWasOfferedInVainIsOfferedAgainOnceSomethingComes) {
  WaitingJobs waiting;
  waiting.push({0, 0, JobId{1}, 0});
  EXPECT_FALSE(waiting.all_offered(1));
  waiting.next_to_offer();
  EXPECT_TRUE(waiting.all_offered(1));
  waiting.push({0, 0, JobId{2}, 0});
  EXPECT_FALSE(waiting.all_offered(1));
}

TEST(WaitingJobsProperty, LeavesInOrderWhateverChanges) {
  EXPECT_TRUE(rc::check("the heap agrees with a sorted list", [](const std::vector<std::tuple<int, std::uint8_t>>& steps) {
    WaitingJobs waiting;
    std::vector<Entry> model;
    std::uint32_t next = 1;
    for (const auto& [kind, value] : steps) {
      const std::size_t at = model.empty() ? 0 : value % model.size();
      const auto same = [&](const Entry& entry) { return entry.job == waiting[at].job; };
      if (kind % 3 == 0 || model.empty()) {
        const Entry entry{value % 3, value % 5U, JobId{next++}, 0};
        waiting.push(entry);
        model.push_back(entry);
      } else if (kind % 3 == 1) {
        std::erase_if(model, same);
        waiting.erase(at);
      } else {
        std::find_if(model.begin(), model.end(), same)->held = value;
        waiting.set_held(at, value);
      }
      RC_ASSERT(waiting.size() == model.size());
    }
    std::sort(model.begin(), model.end(), [](const Entry& a, const Entry& b) { return a.goes_before(b); });
    std::vector<std::uint32_t> wanted;
    for (const Entry& entry : model) wanted.push_back(entry.job.value());
    RC_ASSERT(drain(waiting) == wanted);
  }));
}

}  // namespace
}  // namespace penstock::supervisor
