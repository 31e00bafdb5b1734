#include "worker/core/runs/run_starts.hpp"

#include <algorithm>

#include "worker/core/rooms.hpp"

namespace penstock::worker {

void RunStarts::start(RecordIndex index, const Taken& taken) {
  SubtaskRecord& record = tables_.subtasks[index];
  Band& band = bands_.of(record);
  tables_.subtasks.move(record, SubtaskState::Running);
  band.release_permit(index, record);
  if (taken.resumed) {
    reports_.reporter.hurry_load();
    watch_.started(record);  // The run counts as started once more.
  } else {
    if (band.warmer.any()) band.warmer.want_no_longer(record);
    record.lane = taken.lane;
    band.running.started(index, record, event_.now);
    ++tables_.counters.started;
    if (record.program->content.time_limit > Duration{0})
      record.stop_at = later(event_.now, record.program->content.time_limit);
    watch_.started(record);
  }
  order(index, record).resumed = taken.resumed;
}

void RunStarts::take_over(const RunEnd& run) {
  SubtaskRecord& record = tables_.subtasks[run.next];
  Band& band = bands_.of(record);
  tables_.subtasks.move(record, SubtaskState::Running);
  record.lane = band.execute.hand_over(run.record, run.next);
  band.release_permit(run.next, record);
  band.running.followed(tables_.subtasks[run.record], run.next, record, std::min(run.ended, event_.now));
  ++tables_.counters.started;
  watch_.started(record);
}

worker_action::StartSubtask& RunStarts::order(RecordIndex index, const SubtaskRecord& record) {
  auto& action = event_.out->add<worker_action::StartSubtask>();
  action.record = index;
  action.id = tables_.subtasks.id_of(record);
  action.attempt = record.attempt;
  action.band = record.band;
  action.lane = record.lane;
  action.program = &record.program->content;
  action.payload = record.payload;
  action.inputs = record.inputs;
  action.omitted_inputs = record.omitted_inputs;
  action.identity = tables_.jobs[record.job].identity;
  action.devices = bands_[record.band].execute.lanes().devices.of(record.lane, action.program->request);
  return action;
}

}  // namespace penstock::worker
