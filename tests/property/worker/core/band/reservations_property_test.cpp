// LatchedQueue with slots that are kept for a job: whatever happens, nobody else has them, and none is left behind.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <vector>

#include "worker/core/band/latched_queue.hpp"

namespace penstock::worker {
namespace {

constexpr std::uint32_t kRecords = 24;
constexpr std::uint32_t kJobs = 4;
constexpr MilliSlots kCapacity{4000};

ResourceVector slots(std::int64_t milli) {
  ResourceVector vector;
  vector.slots = MilliSlots{milli};
  return vector;
}
const ResourceVector kRequests[] = {slots(1000), slots(500), slots(2000)};

/// One operation, drawn as plain numbers so that rapidcheck shrinks it.
using Step = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>;

struct Kept {
  MilliSlots wanted;
  bool opens = false;
  bool full = false;   ///< The queue may have said that all of the slots are held.
  bool stays = false;  ///< The job is preferred.
};

/// A run ends and another that is on offer follows it on its lane, where the queue offers any.
void follow_one(LatchedQueue& queue) {
  std::vector<RecordIndex> running;
  const ResourceVector* request = nullptr;
  for (std::uint32_t record = 0; record < kRecords; ++record)
    if (queue.holds(RecordIndex{record})) {
      running.push_back(RecordIndex{record});
      const ResourceVector* const its = &kRequests[record % 3];
      if (request != nullptr && its != request) return;
      request = its;
    }
  std::vector<RecordIndex> offered;
  queue.offer(
      2, running, [&](const QueueItem& item) { return item.request == request; }, offered);
  for (const RecordIndex ended : running) {
    if (offered.empty() || queue.items().state_of(offered.front()) != QueueState::Offered) break;
    if (queue.offers().within_jobs() && ended.value() % kJobs != offered.front().value() % kJobs) continue;
    queue.hand_over(ended, offered.front());
  }
  queue.offers().withdraw();
}

/// Sums and promises hold, whatever has just happened.
void expect_sound(const LatchedQueue& queue, std::map<std::uint32_t, Kept>& kept) {
  RC_ASSERT(queue.reservations().any() == !kept.empty());
  RC_ASSERT(queue.available().slots >= MilliSlots{});
  MilliSlots all;
  for (std::uint32_t each = 0; each < kJobs; ++each) {
    const JobSlot slot{each};
    all += queue.items().held_by(slot) + queue.reservations().held_for(slot);
    if (!kept.contains(each)) continue;
    const MilliSlots has = queue.items().held_by(slot) + queue.reservations().held_for(slot);
    RC_ASSERT(queue.reservations().has_slots(slot) == (has >= kept[each].wanted));
    RC_ASSERT(queue.reservations().has_slots(slot) || !kept[each].full ||
              kept[each].opens);  // The job has been answered for.
    kept[each].full = queue.reservations().has_slots(slot);
    // All free slots are kept for the jobs that have not all of theirs yet.
    RC_ASSERT(queue.reservations().has_slots(slot) || queue.available().slots.is_zero());
  }
  RC_ASSERT(all <= kCapacity);
}

void nobody_else_has_them(const std::vector<Step>& steps) {
  LatchedQueue queue{slots(kCapacity.value()), {}};
  std::map<std::uint32_t, Kept> kept;  // By job.
  std::uint64_t sequence = 0;
  bool all_taken = true;
  const auto job_of = [](std::uint32_t record) { return JobSlot{record % kJobs}; };
  for (const auto& [kind, a, b] : steps) {
    const std::uint32_t record = a % kRecords;
    const JobSlot job = job_of(record);
    switch (kind % 9) {
      case 0:
      case 1:
        if (queue.waits(RecordIndex{record}) || queue.holds(RecordIndex{record})) break;
        queue.put(QueueItem{RecordIndex{record}, job, 0, sequence++, &kRequests[record % 3], Bytes{0}});
        break;
      case 2: queue.release(RecordIndex{record}); break;
      case 3: queue.remove(RecordIndex{record}); break;
      case 4: {
        const MilliSlots wanted{500 * (1 + b % 8)};
        queue.set_entitlement(job, MilliSlots{}, 0);
        queue.reservations().reserve(job, slots(wanted.value()));
        const auto before = kept.find(job.value());
        const bool keeps = before != kept.end() && before->second.full && wanted <= before->second.wanted;
        kept[job.value()] = {wanted, false, keeps};
        break;
      }
      case 5:
        if (!kept.contains(job.value())) break;
        queue.set_entitlement(job, kept[job.value()].wanted, 0);
        queue.reservations().open(job);
        kept[job.value()].opens = true;
        break;
      case 6:
        queue.reservations().drop(job);
        kept.erase(job.value());
        break;
      case 7:
        if (all_taken) follow_one(queue);
        break;
      case 8: {
        const MilliSlots wanted{500 * (1 + b % 8)};
        queue.set_entitlement(job, MilliSlots::max(), 0);
        queue.reservations().prefer(job, wanted);
        kept[job.value()] = {.wanted = wanted, .opens = true, .stays = true};
        break;
      }
      default: break;
    }
    queue.validate();
    std::vector<Taken> taken;
    const std::size_t max = b % 4 == 3 ? b / 4 % 2 : kRecords;
    all_taken = max == kRecords;
    queue.take(taken, max);
    queue.validate();
    RC_ASSERT(taken.size() <= max);
    for (const Taken& item : taken) {
      const auto of_job = kept.find(job_of(item.record.value()).value());
      RC_ASSERT(of_job == kept.end() || of_job->second.opens);  // A reservation is closed until it is opened.
    }
    // A job that is opened begins, and keeps the rest until a `take` starts nothing of it; a preferred job keeps it.
    std::erase_if(kept, [&](const auto& each) {
      const bool begins = std::any_of(taken.begin(), taken.end(),
                                      [&](const Taken& item) { return item.record.value() % kJobs == each.first; });
      const bool is_over = taken.size() < max && !begins;
      const bool has_none = queue.reservations().held_for(JobSlot{each.first}).is_zero();
      return each.second.opens && !each.second.stays && (is_over || has_none);
    });
    expect_sound(queue, kept);
  }
}

TEST(ReservationsProperty, NobodyElseHasThemAndNoneIsLeftBehind) {
  EXPECT_TRUE(rc::check("what is reserved is the job's alone, and all of it is given back", nobody_else_has_them));
}

}  // namespace
}  // namespace penstock::worker
