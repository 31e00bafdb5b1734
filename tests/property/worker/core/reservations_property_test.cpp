// LatchedQueue with slots that are kept for a job: whatever happens, nobody else has them, and none is left behind.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <vector>

#include "worker/core/latched_queue.hpp"

namespace penstock::worker {
namespace {

constexpr std::uint32_t kRecords = 12;
constexpr std::uint32_t kJobs = 3;
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
};

void nobody_else_has_them(const std::vector<Step>& steps) {
  LatchedQueue queue{slots(kCapacity.value()), {}};
  std::map<std::uint32_t, Kept> kept;  // By job.
  std::uint64_t sequence = 0;
  const auto job_of = [](std::uint32_t record) { return JobSlot{record % kJobs}; };
  for (const auto& [kind, a, b] : steps) {
    const std::uint32_t record = a % kRecords;
    const JobSlot job = job_of(record);
    switch (kind % 7) {
      case 0:
      case 1:
        if (queue.waits(RecordIndex{record}) || queue.holds(RecordIndex{record})) break;
        queue.put(QueueItem{RecordIndex{record}, job, 0, sequence++, &kRequests[b % 3], Bytes{0}});
        break;
      case 2: queue.release(RecordIndex{record}); break;
      case 3: queue.remove(RecordIndex{record}); break;
      case 4: {
        const MilliSlots wanted{500 * (1 + b % 8)};
        queue.set_entitlement(job, MilliSlots{}, 0);
        queue.reserve(job, slots(wanted.value()));
        kept[job.value()] = {wanted, false};
        break;
      }
      case 5:
        if (!kept.contains(job.value())) break;
        queue.set_entitlement(job, kept[job.value()].wanted, 0);
        queue.open_reservation(job);
        kept[job.value()].opens = true;
        break;
      case 6:
        queue.drop_reservation(job);
        kept.erase(job.value());
        break;
      default: break;
    }
    queue.validate();
    std::vector<Taken> taken;
    queue.take(taken);
    queue.validate();
    for (const Taken& item : taken) {
      const auto of_job = kept.find(job_of(item.record.value()).value());
      RC_ASSERT(of_job == kept.end() || of_job->second.opens);  // It is closed until it is opened.
    }
    std::erase_if(kept, [](const auto& each) { return each.second.opens; });
    RC_ASSERT(queue.any_reservation() == !kept.empty());
    RC_ASSERT(queue.available().slots >= MilliSlots{});
    MilliSlots all;
    for (std::uint32_t each = 0; each < kJobs; ++each) {
      const JobSlot slot{each};
      all += queue.held_by(slot) + queue.reserved_for(slot);
      if (!kept.contains(each)) continue;
      const MilliSlots has = queue.held_by(slot) + queue.reserved_for(slot);
      RC_ASSERT(queue.is_reserved(slot) == (has >= kept[each].wanted));
      // Whatever is free is kept for whoever has not all of it yet.
      RC_ASSERT(queue.is_reserved(slot) || queue.available().slots.is_zero());
    }
    RC_ASSERT(all <= kCapacity);
  }
}

TEST(ReservationsProperty, NobodyElseHasThemAndNoneIsLeftBehind) {
  EXPECT_TRUE(rc::check("what is reserved is the job's alone, and all of it is given back", nobody_else_has_them));
}

}  // namespace
}  // namespace penstock::worker
