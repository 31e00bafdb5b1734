// SuccessorTable against a naive model: sets of missing producers.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "worker/core/jobs/successor_table.hpp"

namespace penstock::worker {
namespace {

constexpr JobSlot kJob{0};
constexpr std::uint32_t kProducers = 6;
constexpr std::uint32_t kSuccessors = 6;

using Step = std::tuple<std::uint8_t, std::uint8_t, std::vector<std::uint8_t>>;

struct Model {
  std::map<std::uint32_t, std::multiset<std::uint32_t>> missing;  ///< Of each cached successor.
  std::map<std::uint32_t, std::uint16_t> finished;  ///< And by which attempt.

  std::set<std::uint32_t> complete(std::uint32_t producer) {
    std::set<std::uint32_t> done;
    for (auto& [successor, producers] : missing) {
      if (producers.erase(producer) > 0 && producers.empty()) done.insert(successor);
    }
    for (const std::uint32_t successor : done) missing.erase(successor);
    return done;
  }
};

std::set<std::uint32_t> numbers(const std::vector<RecordIndex>& records) {
  std::set<std::uint32_t> set;
  for (const RecordIndex record : records) RC_ASSERT(set.insert(record.value()).second);
  return set;
}

void table_agrees_with_sets(const std::vector<Step>& steps) {
  SuccessorTable table;
  table.open_job(kJob);
  Model model;
  std::uint16_t attempt = 0;
  for (const auto& [kind, a, list] : steps) {
    const std::uint32_t producer = a % kProducers;
    const std::uint32_t successor = a % kSuccessors;
    std::vector<RecordIndex> complete;
    switch (kind % 6) {
      case 0:
      case 1: {
        if (model.missing.contains(successor)) break;
        std::vector<SubtaskIndex> producers;
        std::multiset<std::uint32_t> expected;
        for (const std::uint8_t p : list) {
          producers.emplace_back(p % kProducers);
          if (!model.finished.contains(p % kProducers)) expected.insert(p % kProducers);
        }
        RC_ASSERT(table.add(RecordIndex{successor}, kJob, producers) == expected.size());
        if (!expected.empty()) model.missing[successor] = expected;
        break;
      }
      case 2:
        table.finished_here(kJob, {SubtaskIndex{producer}, Attempt{++attempt}}, complete);
        RC_ASSERT(numbers(complete) == model.complete(producer));
        model.finished[producer] = attempt;
        break;
      case 3:
        table.noticed(kJob, SubtaskIndex{producer}, complete);
        RC_ASSERT(numbers(complete) == model.complete(producer));
        break;
      case 4: {
        const auto last = model.finished.find(producer);
        const bool is_last = last != model.finished.end() && list.size() % 2 == 0;
        const Attempt older{0};
        table.applied(kJob, {SubtaskIndex{producer}, is_last ? Attempt{last->second} : older});
        if (is_last) model.finished.erase(last);
        break;
      }
      case 5:
        table.remove(RecordIndex{successor});
        model.missing.erase(successor);
        break;
      default: break;
    }
    table.validate();
    RC_ASSERT(table.cached() == model.missing.size());
    for (std::uint32_t s = 0; s < kSuccessors; ++s)
      RC_ASSERT(table.missing(RecordIndex{s}) == (model.missing.contains(s) ? model.missing[s].size() : 0));
  }
}

TEST(SuccessorTableProperty, AgreesWithSetsOfMissingProducers) {
  EXPECT_TRUE(rc::check("the same events complete the same successors", table_agrees_with_sets));
}

// Spec: worker 6, under every interleaving. Two producers and one successor: its assignment, both local finishes, both
// notices and a removal in all 720 orders.
TEST(SuccessorTableProperty, TwoProducersAndOneSuccessorInEveryOrder) {
  std::vector<int> order{0, 1, 2, 3, 4, 5};
  do {
    SuccessorTable table;
    table.open_job(kJob);
    const std::vector<SubtaskIndex> producers{SubtaskIndex{0}, SubtaskIndex{1}};
    int started = 0;
    bool removed = false;
    for (const int step : order) {
      std::vector<RecordIndex> complete;
      switch (step) {
        case 0:
          if (!removed) started += table.add(RecordIndex{7}, kJob, producers) == 0;
          break;
        case 1: table.finished_here(kJob, {SubtaskIndex{0}, Attempt{1}}, complete); break;
        case 2: table.finished_here(kJob, {SubtaskIndex{1}, Attempt{1}}, complete); break;
        case 3: table.noticed(kJob, SubtaskIndex{0}, complete); break;
        case 4: table.noticed(kJob, SubtaskIndex{1}, complete); break;
        case 5:
          table.remove(RecordIndex{7});
          removed = true;
          break;
        default: break;
      }
      started += static_cast<int>(complete.size());
      ASSERT_LE(started, 1);
      table.validate();
    }
    if (table.cached() == 0 && !removed) { ASSERT_EQ(started, 1); }
    ASSERT_EQ(table.cached(), 0U);
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace penstock::worker
