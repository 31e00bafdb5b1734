// WorkerCore: runners that take long to start are started before they are needed.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {
namespace {

/// How many of `most` fit beside each other; takes them away.
std::uint32_t fill(const ResourceVector& request, std::uint32_t most, ResourceVector& room) {
  std::uint32_t count = 0;
  for (; count < most && fits_execution(request, room) && request.memory <= room.memory; ++count) {
    take_away(request, room);
    room.memory -= request.memory;
  }
  return count;
}

}  // namespace

// Kinds beyond what a lane keeps would drive each other out.
void WorkerCore::want_runner(const SubtaskRecord& record) {
  if (record.program->runner_kind == 0) return;
  runners_wanted_ = true;
  std::vector<RunnerWish>& wishes = band_of(record).runner_wishes;
  for (RunnerWish& wish : wishes)
    if (wish.kind == record.program->runner_kind) return void(++wish.subtasks);
  if (wishes.size() < config_.runner_kinds_max)
    wishes.push_back({record.program->runner_kind, jobs_[record.job].id, record.program, 1});
}

// What starts at once starts its runner itself, and what has ended needs none.
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
      if (jobs_.find(wish.job).valid()) warm_runners(*band, wish, room);  // Else its template is gone, too.
    band->runner_wishes.clear();
  }
}

// As many as there are subtasks that wait and lanes that are idle, and could run at once: others would only take memory
// that is in nobody's quota. What is short of memory starts none in advance.
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
