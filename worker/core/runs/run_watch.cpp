#include "worker/core/runs/run_watch.hpp"

#include <algorithm>

#include "worker/core/rooms.hpp"

namespace penstock::worker {

void RunWatch::stop(RecordIndex index, StopReason reason, Duration kill_after) {
  SubtaskRecord& record = tables_.subtasks[index];
  if (kill_after == kDefaultGrace) {
    const Duration own = record.program->content.kill_grace;
    kill_after = own > Duration{0} ? own : config_.kill_grace;
  }
  const Instant kill_at = later(event_.now, kill_after);
  if (record.stopping == StopReason::None) {
    record.stopping = reason;
    record.stop_at = kill_at;
    if (kill_after > Duration{0} && !record.asked_to_stop) {
      record.asked_to_stop = true;
      event_.out->add(worker_action::StopRun{index, record.attempt, record.band, record.lane, false, false});
    }
  } else {
    // A cancel overrides all other reasons, each of these a preemption, and a shorter grace a longer one.
    if (reason == StopReason::Cancelled || record.stopping == StopReason::Preempted) record.stopping = reason;
    record.stop_at = std::min(record.stop_at, kill_at);
  }
  if (event_.now >= record.stop_at) advance(index);
  look_at(record.stop_at);
}

// The time limit of a run has passed, or the grace after it was asked to stop.
void RunWatch::advance(RecordIndex index) {
  SubtaskRecord& record = tables_.subtasks[index];
  record.stop_at = kNever;
  if (record.stopping == StopReason::None) {
    stop(index, StopReason::TimedOut, kDefaultGrace);
    return;
  }
  // A run that ignores a cancel still has a time limit.
  const Duration limit = record.program->content.time_limit;
  const Instant ends = limit > Duration{0} ? later(record.started, limit) : kNever;
  const bool overdue = event_.now >= ends;
  if (record.killed_overdue || (record.killed && !overdue)) return;
  record.killed = true;
  record.killed_overdue = overdue;
  event_.out->add(worker_action::StopRun{index, record.attempt, record.band, record.lane, true, overdue});
  if (overdue || ends == kNever) return;
  record.stop_at = ends;
  look_at(ends);
}

void RunWatch::check() {
  if (event_.now < check_at_) return;
  check_at_ = kNever;
  for (const auto& band : bands_) {
    // The list does not change under the loop: a stop ends nothing here.
    for (const RecordIndex index : band->running) {
      SubtaskRecord& record = tables_.subtasks[index];
      report_started(record);
      if (event_.now >= record.stop_at) advance(index);
      look_at(record.stop_at);
    }
  }
}

void RunWatch::report_started(SubtaskRecord& record) {
  if (record.told_started || record.state != SubtaskState::Running) return;
  if (event_.now - record.started < config_.started_after) return look_at(later(record.started, config_.started_after));
  record.told_started = true;
  record.devices = bands_[record.band].execute.lanes().devices.of(record.lane, record.program->content.request);
  const std::int64_t so_far_us = (event_.now - record.started) / std::chrono::microseconds{1};
  record.run_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(so_far_us, 0, UINT32_MAX));
  reports_.reporter.report(record, Outcome::Started);
}

}  // namespace penstock::worker
