// LatchedQueue against a naive model: a list that is searched for the best item each time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "worker/core/band/latched_queue.hpp"

namespace penstock::worker {
namespace {

constexpr std::uint32_t kRecords = 12;
constexpr std::uint32_t kJobs = 3;
constexpr std::int64_t kCapacity = 3000;

ResourceVector slots(std::int64_t milli) {
  ResourceVector vector;
  vector.slots = MilliSlots{milli};
  return vector;
}
const ResourceVector kRequests[] = {slots(1000), slots(500), slots(2000)};

/// One operation, drawn as plain numbers so that rapidcheck shrinks it.
using Step = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t>;

struct Model {
  struct Item {
    std::uint32_t record, job, priority, shape;
    std::uint64_t sequence;
    std::uint32_t bypassed = 0;
  };
  std::vector<Item> waiting;
  std::map<std::uint32_t, Item> holding;
  std::map<std::uint32_t, std::int64_t> entitlement;
  std::map<std::uint32_t, std::int32_t> job_priority;
  std::map<std::uint32_t, std::uint64_t> served;
  std::uint64_t clock = 0;
  std::uint32_t bypass_max;

  bool any_limited() const {
    return std::any_of(entitlement.begin(), entitlement.end(), [](const auto& each) { return each.second > 0; });
  }
  void entitle(std::uint32_t job, std::int64_t slots) {
    const bool before = any_limited();
    entitlement[job] = slots;
    if (before != any_limited()) served.clear(), clock = 0;
  }
  void count_served(const Item& item) {
    if (!any_limited()) return;
    clock = std::max(clock, served[item.job]);
    const auto slots = static_cast<std::uint64_t>(std::max<std::int64_t>(std::min(entitled(item.job), kCapacity), 1));
    served[item.job] =
        clock + static_cast<std::uint64_t>(kRequests[item.shape].slots.value()) * (std::uint64_t{1} << 20U) / slots;
  }
  std::int64_t held(std::uint32_t job) const {
    std::int64_t sum = 0;
    for (const auto& [record, item] : holding)
      if (item.job == job) sum += kRequests[item.shape].slots.value();
    return sum;
  }
  std::int64_t held() const {
    std::int64_t sum = 0;
    for (std::uint32_t job = 0; job < kJobs; ++job) sum += held(job);
    return sum;
  }
  std::int64_t entitled(std::uint32_t job) const {
    const auto found = entitlement.find(job);
    return found == entitlement.end() ? std::int64_t{1} << 60 : found->second;
  }
  bool fits(const Item& item) const {
    const std::int64_t wanted = kRequests[item.shape].slots.value();
    return held() + wanted <= kCapacity && held(item.job) + wanted <= entitled(item.job);
  }
  bool before(const Item& a, const Item& b) const {
    const auto rank = [this](std::uint32_t job) { return job_priority.contains(job) ? job_priority.at(job) : 0; };
    if (rank(a.job) != rank(b.job)) return rank(a.job) > rank(b.job);
    if (a.priority != b.priority) return a.priority > b.priority;
    const auto had = [this](std::uint32_t job) { return served.contains(job) ? served.at(job) : 0; };
    if (had(a.job) != had(b.job)) return had(a.job) < had(b.job);
    return a.sequence < b.sequence;
  }
  std::vector<std::uint32_t> take() {
    std::vector<std::uint32_t> taken;
    while (held() < kCapacity) {
      std::sort(waiting.begin(), waiting.end(), [this](const Item& a, const Item& b) { return before(a, b); });
      std::vector<Item*> passed;
      std::set<std::uint32_t> blocked;  // Jobs of which an item reserves what the job may hold.
      auto chosen = waiting.end();
      for (auto it = waiting.begin(); it != waiting.end(); ++it) {
        if (held(it->job) >= entitled(it->job) || blocked.contains(it->job)) continue;
        if (fits(*it)) {
          chosen = it;
          break;
        }
        if (it->bypassed >= bypass_max) {
          if (held(it->job) + kRequests[it->shape].slots.value() <= entitled(it->job)) break;
          blocked.insert(it->job);
          continue;
        }
        passed.push_back(&*it);
      }
      if (chosen == waiting.end()) break;
      for (Item* item : passed) ++item->bypassed;
      taken.push_back(chosen->record);
      holding[chosen->record] = *chosen;
      count_served(*chosen);
      waiting.erase(chosen);
    }
    return taken;
  }
  bool erase_waiting(std::uint32_t record) {
    return std::erase_if(waiting, [record](const Item& item) { return item.record == record; }) > 0;
  }
  bool knows(std::uint32_t record) const {
    return holding.contains(record) ||
           std::any_of(waiting.begin(), waiting.end(), [record](const Item& item) { return item.record == record; });
  }
};

void queue_agrees_with_model(const std::vector<Step>& steps, std::uint32_t bypass_max) {
  LatchedQueue queue{slots(kCapacity), {.bypass_max = bypass_max, .scan_max = 1000, .lanes_max = 100}};
  Model model;
  model.bypass_max = bypass_max;
  std::uint64_t sequence = 0;
  for (const auto& [kind, a, b, c] : steps) {
    const std::uint32_t record = a % kRecords;
    const std::uint32_t job = record % kJobs;
    const std::uint32_t priority = b % 4;
    switch (kind % 8) {
      case 0:
      case 1:
      case 2:
        if (model.knows(record)) break;
        queue.put(QueueItem{RecordIndex{record}, JobSlot{job}, std::uint64_t{priority} << 32U, sequence,
                            &kRequests[c % 3], Bytes{0}});
        model.waiting.push_back({record, job, priority, static_cast<std::uint32_t>(c % 3), sequence, 0});
        ++sequence;
        break;
      case 3: RC_ASSERT(queue.release(RecordIndex{record}) == (model.holding.erase(record) > 0)); break;
      case 4:
        RC_ASSERT(queue.remove(RecordIndex{record}) ==
                  (model.erase_waiting(record) || model.holding.erase(record) > 0));
        break;
      case 5:
        queue.update_priority(RecordIndex{record}, std::uint64_t{priority} << 32U);
        for (Model::Item& item : model.waiting)
          if (item.record == record) item.priority = priority;
        break;
      case 6:
        model.entitle(job, 500 * (b % 6));
        queue.set_entitlement(JobSlot{job}, MilliSlots{500 * (b % 6)}, 0);
        break;
      case 7:
        model.job_priority[job] = b % 3;
        queue.set_job_priority(JobSlot{job}, b % 3);
        break;
      default: break;
    }
    queue.validate();
    if (c % 3 == 0) continue;
    std::vector<Taken> taken;
    queue.take(taken);
    queue.validate();
    std::vector<std::uint32_t> records;
    for (const Taken& item : taken) records.push_back(item.record.value());
    RC_ASSERT(records == model.take());
  }
}

TEST(LatchedQueueProperty, AgreesWithASortedList) {
  EXPECT_TRUE(rc::check(
      "the same operations take the same items in the same order",
      [](const std::vector<Step>& steps) { queue_agrees_with_model(steps, *rc::gen::inRange<std::uint32_t>(0, 5)); }));
}

// Small and exhaustive: all ways to mix four puts of two priorities with takes and releases on one slot.
TEST(LatchedQueueProperty, EveryMixOfPutsAndReleasesTakesTheBestThatIsThere) {
  for (std::uint32_t mix = 0; mix < (1U << 12U); ++mix) {
    LatchedQueue queue{slots(1000), {}};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> present;  // (priority, record)
    std::uint32_t next = 0;
    std::uint32_t running = ~0U;
    for (std::uint32_t step = 0; step < 6; ++step) {
      const std::uint32_t choice = (mix >> (2 * step)) & 3U;
      if (choice < 2) {
        queue.put(
            QueueItem{RecordIndex{next}, JobSlot{0}, std::uint64_t{choice} << 32U, next, &kRequests[0], Bytes{0}});
        present.emplace_back(choice, next++);
      } else if (running != ~0U) {
        ASSERT_TRUE(queue.release(RecordIndex{running}));
        running = ~0U;
      }
      std::vector<Taken> taken;
      queue.take(taken);
      if (running != ~0U || present.empty()) {
        ASSERT_TRUE(taken.empty());
        continue;
      }
      const auto best = std::max_element(present.begin(), present.end(), [](const auto& x, const auto& y) {
        return x.first != y.first ? x.first < y.first : x.second > y.second;
      });
      ASSERT_EQ(taken.size(), 1U);
      ASSERT_EQ(taken[0].record.value(), best->second);
      running = best->second;
      present.erase(best);
    }
  }
}

}  // namespace
}  // namespace penstock::worker
