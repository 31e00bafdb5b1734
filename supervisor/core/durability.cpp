// SupervisorCore: what is written down, and what waits until it is.
#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/results.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

void SupervisorCore::write_what_has_changed() {
  if (outputs_.progress.empty()) fleet_.mail.acknowledge_reports();
  for (const JobId brought_by : tables_.graphs.take_forgotten()) ledger_.gate.write(record::GraphForgotten{brought_by});
  ledger_.gate.commit(!tables_.indices.active.empty());
}

void SupervisorCore::on(supervisor_event::Persisted& event) {
  if (ledger_.gate.persisted(event.ticket))
    ledger_.audit.note_trouble("release replies", "all deferred records are written");
  while (const std::optional<JobId> id = ledger_.accepting.take_written()) {
    if (!tables_.jobs.knows(*id)) continue;
    Job& job = tables_.jobs[*id];
    job.status.waiting_for_disk = false;
    policy_base_.turns.policy_changed();
    // The job may have been cancelled in the meantime.
    if (job.status.state == JobState::Running && !job.status.cancelling) lifecycle_.acceptance.place_sources(job);
  }
  while (const std::optional<SharedGraph*> graph = ledger_.being_written.take_written()) tables_.graphs.leave(**graph);
  while (const std::optional<Loss> loss = ledger_.losses.take_written())
    if (const WorkerSlot slot = fleet_.workers.find(loss->worker); slot.valid())
      losses_.lose_worker(slot, loss->reason);
  if (fleet_.readoption.are_given_up_on_disk()) returns_.end_reclaiming();
}

// Faults F11, F12: nothing more is promised; what runs goes on, and its progress waits.
void SupervisorCore::on(supervisor_event::StorageFailed& event) {
  if (ledger_.gate.fail(event.error)) {
    ledger_.audit.note_trouble("hold back replies", to_string(event.error));
    event_.out->add(supervisor_action::Alert{std::move(event.error)});
  }
  for (const JobId id : ledger_.accepting.take_all()) lifecycle_.acceptance.withdraw(id);
}

}  // namespace penstock::supervisor
