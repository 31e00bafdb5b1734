// WorkerCore: slow-starting runners are started before they are needed.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

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
void WorkerCore::want_runner(const SubtaskRecord& record) {
  if (record.program->runner_kind == 0) return;
  runners_wanted_ = true;
  std::vector<RunnerWish>& wishes = band_of(record).runner_wishes;
  for (RunnerWish& wish : wishes)
    if (wish.kind == record.program->runner_kind) return void(++wish.subtasks);
  if (wishes.size() < config_.runner_kinds_max)
    wishes.push_back({record.program->runner_kind, jobs_[record.job].id, record.program, 1});
}

// A subtask that starts at once starts its runner itself, and an ended one needs none.
void WorkerCore::needs_no_runner(const SubtaskRecord& record) {
  for (RunnerWish& wish : band_of(record).runner_wishes)
    if (wish.kind == record.program->runner_kind && wish.subtasks > 0) --wish.subtasks;
}

void WorkerCore::warm_runners() {
  runners_wanted_ = false;
  for (const auto& band : bands_) {
    ResourceVector room = band->execute.available();
    room.memory = band->quota.capacity() - std::min(band->quota.used(), band->quota.capacity());
    for (const RunnerWish& wish : band->runner_wishes)
      if (jobs_.find(wish.job).valid()) warm_runners(*band, wish, room);  // Otherwise its template is gone, too.
    band->runner_wishes.clear();
  }
}

// As many as there are waiting subtasks and idle lanes that could run at once: further ones would only take memory that
// no quota counts. A band short of memory starts none in advance.
void WorkerCore::warm_runners(Band& band, const RunnerWish& wish, ResourceVector& room) {
  if (wish.subtasks == 0 || draining_ || band.relief != ReliefStep::None) return;
  const Template& content = wish.program->content;
  const std::int64_t each = std::max<std::int64_t>(content.request.slots.value(), 1);
  const std::int64_t idle = std::max<std::int64_t>(band.execute.available().slots.value(), 0) / each;
  const auto most = static_cast<std::uint32_t>(std::min<std::int64_t>(wish.subtasks, idle));
  const std::uint32_t count = fill(content.request, most, room);
  if (!band.runner_kinds.order(wish.kind, count)) return;
  PENSTOCK_COVERAGE_MARK("runners were started before they were needed");
  worker_action::WarmRunners warm{band.index, band.execute.next_lanes(count), &content};
  if (!warm.lanes.empty()) out_->add(std::move(warm));
}

}  // namespace penstock::worker
