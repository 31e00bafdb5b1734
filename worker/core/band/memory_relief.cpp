#include "worker/core/band/memory_relief.hpp"

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {

ReliefStep MemoryRelief::measured(const worker_event::MemoryMeasured& event, const MemoryQuota& quota, Instant now,
                                  Duration every) {
  if (event.by == RunnerKind::Command) {
    commands_use_ = event.used;
  } else {
    runners_use_ = event.used;
    idle_use_ = event.idle;
  }
  ReliefStep step;
  Bytes used = commands_use_ + runners_use_;
  if (used <= quota.capacity()) {
    step.ends = active();
    stage_ = Stage::None;
    return step;
  }
  const bool starts = !active();
  if (starts ? used <= quota.hard_limit() : now < next_at_) return step;
  step.any = true;
  next_at_ = later(now, every);
  if (idle_use_ > Bytes{0}) {
    PENSTOCK_COVERAGE_MARK("idle runners were ended for what they held");
    used -= idle_use_;
    step.restart_idle = true;
    if (used <= (starts ? quota.hard_limit() : quota.capacity())) return step;
  }
  switch (stage_) {
    case Stage::None:
      stage_ = Stage::GrantsStopped;
      step.stop_grants = true;
      break;
    case Stage::GrantsStopped:
      stage_ = Stage::SpillRequested;
      step.spill = used - quota.capacity();
      break;
    case Stage::SpillRequested:
    case Stage::RunnersRestarted:
      stage_ = Stage::RunnersRestarted;
      step.restart_idle = true;
      break;
  }
  return step;
}

void MemoryRelief::idle_restarted() {
  runners_use_ -= idle_use_;
  idle_use_ = Bytes{0};
}

}  // namespace penstock::worker
