#include "worker/core/orders/slot_loans.hpp"

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void SlotLoans::lend(const worker_event::SlotYielded& event) {
  if (!tables_.subtasks.is(event.record, event.attempt, SubtaskState::Running)) return;
  SubtaskRecord& record = tables_.subtasks[event.record];
  Band& band = bands_.of(record);
  const bool lent = band.execute.yield_slot(event.record);
  event_.out->add(worker_action::AnswerYield{event.record, event.attempt, record.band, record.lane, lent});
  if (!lent) PENSTOCK_COVERAGE_MARK("a run could not lend its slot because too many have");
  if (!lent) return;
  reports_.reporter.hurry_load();
  tables_.subtasks.move(record, SubtaskState::Yielded);
  record.told_started = false;  // The start is told again when the run has a slot again.
  reports_.reporter.report(record, Outcome::Lent);
  band.dirty = true;
}

void SlotLoans::want_back(const worker_event::SlotWanted& event) {
  if (!tables_.subtasks.is(event.record, event.attempt, SubtaskState::Yielded)) return;
  SubtaskRecord& record = tables_.subtasks[event.record];
  // Spec: worker 2, it takes part again with raised priority: before everything that has not begun.
  record.priority = ~std::uint64_t{0};
  reports_.reporter.report(record, Outcome::Wanted);
  bands_.of(record).execute.resume_slot(event.record, record.priority);
  bands_.of(record).dirty = true;
}

void SlotLoans::tell_again() {
  for (const auto& band : bands_)
    for (const RecordIndex index : band->running)
      if (band->execute.has_yielded(index) && !band->execute.waits(index))
        reports_.reporter.report(tables_.subtasks[index], Outcome::Lent);
}

}  // namespace penstock::worker
