#include "worker/core/band/runner_warmer.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {
namespace {

/// The number of requests, at most `most`, that fit into `room` together; subtracts them.
std::uint32_t fill(const ResourceVector& request, std::uint32_t most, ResourceVector& room) {
  std::uint32_t count = 0;
  for (; count < most && fits_execution(request, room) && request.memory <= room.memory; ++count) {
    take_away(request, room);
    room.memory -= request.memory;
  }
  return count;
}

}  // namespace

// More kinds than a lane keeps would evict each other.
void RunnerWarmer::want(const SubtaskRecord& record, JobId job) {
  if (record.program->runner_kind == 0) return;
  for (Wish& wish : wishes_)
    if (wish.kind == record.program->runner_kind) return void(++wish.subtasks);
  if (wishes_.size() < kinds_max_) wishes_.push_back({record.program->runner_kind, job, record.program, 1});
}

void RunnerWarmer::want_no_longer(const SubtaskRecord& record) {
  for (Wish& wish : wishes_)
    if (wish.kind == record.program->runner_kind && wish.subtasks > 0) --wish.subtasks;
}

void RunnerWarmer::order(BandIndex band, LatchedQueue& execute, const MemoryQuota& quota, const JobTable& jobs,
                         bool may_start, Actions<WorkerAction>& out) {
  ResourceVector room = execute.available();
  room.memory = quota.capacity() - std::min(quota.used(), quota.capacity());
  for (const Wish& wish : wishes_) {
    if (!jobs.find(wish.job).valid() || wish.subtasks == 0 || !may_start) continue;
    const std::uint32_t count = runners_for(wish, execute, room);
    if (!kinds_.order(wish.kind, count)) continue;
    PENSTOCK_COVERAGE_MARK("runners were started before they were needed");
    worker_action::WarmRunners warm{band, execute.next_lanes(count), &wish.program->content};
    if (!warm.lanes.empty()) out.add(std::move(warm));
  }
  wishes_.clear();
}

std::uint32_t RunnerWarmer::runners_for(const Wish& wish, const LatchedQueue& execute, ResourceVector& room) const {
  const ResourceVector& request = wish.program->content.request;
  const std::int64_t each = std::max<std::int64_t>(request.slots.value(), 1);
  const std::int64_t idle = std::max<std::int64_t>(execute.available().slots.value(), 0) / each;
  return fill(request, static_cast<std::uint32_t>(std::min<std::int64_t>(wish.subtasks, idle)), room);
}

}  // namespace penstock::worker
