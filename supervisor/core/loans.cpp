// SupervisorCore: external inputs, outputs of one job that another reads. A subtask with an external input runs where
// the datum is held, and the producer job is not released before the referencing job has ended.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

bool before(const OutputLocation& a, const OutputLocation& b) {
  return a.producer != b.producer ? a.producer < b.producer : a.output < b.output;
}

std::string name_of(const LentDatum& lent) {
  return "output " + std::to_string(lent.output) + " of subtask " + std::to_string(lent.producer.index.value()) +
         " of " + to_string(lent.producer.job);
}

/// The jobs from which a graph borrows, each once.
std::vector<JobId> lenders_of(const GraphShape& shape) {
  std::vector<JobId> lenders;
  for (const Loan& loan : shape.loans()) lenders.push_back(loan.lent.producer.job);
  std::sort(lenders.begin(), lenders.end());
  lenders.erase(std::unique(lenders.begin(), lenders.end()), lenders.end());
  return lenders;
}

}  // namespace

/// Whether an external input that is not available now can become so.
struct SupervisorCore::Prospect {
  bool never = false;
  bool drains = false;  ///< Only workers hold it that take nothing new, by an order.
  std::string why;
};

/// Refuses a graph with an external input that no job keeps for it.
Result<void> SupervisorCore::check_loans(const JobSpec& spec, const GraphShape& shape) {
  for (const Loan& loan : shape.loans()) {
    const auto refuse = [&](ErrorCode code, const std::string& why) {
      return Error{code, "subtask '" + shape.name(loan.subtask) + "'", "borrows " + name_of(loan.lent) + ", " + why,
                   "keep that job, and want that output, for as long as it is borrowed"};
    };
    const auto& [producer, output, identity] = loan.lent;
    if (!jobs_.knows(producer.job)) return refuse(ErrorCode::NotFound, "and there is no such job (any more)");
    const Job& lender = jobs_[producer.job];
    if (differ(identity, lender.identity)) return refuse(ErrorCode::NotFound, "which is another job now");
    if (!lender.spec.owner.empty() && lender.spec.owner != spec.owner)
      return refuse(ErrorCode::NotFound, "which is a job of another owner");
    const std::uint32_t subtask = producer.index.value();
    if (subtask >= lender.counts.total)
      return refuse(ErrorCode::UnknownKey, "which has only " + std::to_string(lender.counts.total));
    if (lender.state == JobState::Running) {
      const std::uint16_t count = DataDirectory::outputs_of(lender, subtask);
      if (output >= count) return refuse(ErrorCode::UnknownKey, "which makes only " + std::to_string(count));
      if ((lender.hot[subtask].flags & SubtaskFlag::kWanted) == 0)
        return refuse(ErrorCode::WrongState, "which is not kept");
    } else if (lender.release_when_returned || find_output(loan.lent) == nullptr) {
      return refuse(ErrorCode::InputLost, "of which nothing is kept: it was released, lost, or never made");
    }
  }
  return {};
}

/// The producer jobs of an accepted job stay until it has ended.
void SupervisorCore::take_loans(const Job& job) {
  for (const JobId id : lenders_of(*job.shape))
    if (jobs_.knows(id)) ++jobs_[id].borrowers;
}

/// The job has ended, or never was. A producer job that was to be released meanwhile is released now.
void SupervisorCore::return_loans(const Job& job) {
  if (job.shape == nullptr || job.shape->loans().empty()) return;
  awaited_.forget_waiters(job.id);
  std::erase_if(lenders_drain_until_, [&](const auto& each) { return each.first.job == job.id; });
  for (const JobId id : lenders_of(*job.shape)) {
    if (!jobs_.knows(id)) continue;
    Job& lender = jobs_[id];
    if (--lender.borrowers > 0) continue;
    if (lender.release_when_returned && lender.state != JobState::Running) {
      PENSTOCK_COVERAGE_MARK("a lender was released after what it had lent");
      release_job(lender);
    }
  }
}

/// Where an output of a job that has ended is kept for the client; null: nowhere.
const OutputLocation* SupervisorCore::find_output(const LentDatum& lent) {
  Job& lender = jobs_[lent.producer.job];
  // Outputs are sorted at the first search: most jobs have no references.
  if (!std::exchange(lender.outputs_sorted, true)) std::sort(lender.outputs.begin(), lender.outputs.end(), before);
  OutputLocation wanted;
  wanted.producer = lent.producer.index;
  wanted.output = lent.output;
  const auto found = std::lower_bound(lender.outputs.begin(), lender.outputs.end(), wanted, before);
  return found == lender.outputs.end() || before(wanted, *found) ? nullptr : &*found;
}

/// Workers that hold the datum. Of an ended job only the address is known that its client was given: it survives
/// restarts.
std::vector<WorkerSlot> SupervisorCore::holders_of(const LentDatum& lent) {
  std::vector<WorkerSlot> holders;
  if (!jobs_.knows(lent.producer.job)) return holders;
  const Job& lender = jobs_[lent.producer.job];
  if (lender.state != JobState::Running) {
    const OutputLocation* at = find_output(lent);
    for (std::uint32_t i = 0; at != nullptr && i < workers_.worker_slots(); ++i)
      if (workers_[WorkerSlot{i}].alive && workers_[WorkerSlot{i}].description.data_address == at->data_address)
        holders.push_back(WorkerSlot{i});
    return holders;
  }
  const std::uint32_t subtask = lent.producer.index.value();
  const bool there = lender.hot[subtask].phase == SubtaskPhase::Succeeded && lender.data.in_use() &&
                     !lender.data.gone(subtask) && lender.data.bytes(*lender.shape, subtask, lent.output) > 0;
  if (!there) return holders;
  holders.push_back(workers_[lender.hot[subtask].band].worker);
  const std::vector<WorkerId>* replicas = lender.data.replicas(subtask);
  for (std::size_t i = 0; replicas != nullptr && i < replicas->size(); ++i)
    if (lender.data.is_copied_to(*lender.shape, subtask, (*replicas)[i]))
      if (const WorkerSlot slot = workers_.find((*replicas)[i]); slot.valid()) holders.push_back(slot);
  return holders;
}

bool SupervisorCore::may_borrow_on(const Loan& loan, BandSlot band) {
  const std::vector<WorkerSlot> holders = holders_of(loan.lent);
  return std::find(holders.begin(), holders.end(), workers_[band].worker) != holders.end();
}

/// Of the bands beside the datum, the one with the shortest queue; none while there is none.
BandSlot SupervisorCore::band_of_lent(Job& job, const Loan& loan) {
  BandSlot best;
  for (const WorkerSlot holder : holders_of(loan.lent))
    for (const BandSlot band : workers_[holder].bands) {
      if (!may_run_on(job, loan.subtask, band)) continue;
      if (!best.valid() || queue_cost_ns(job, loan.subtask, band) < queue_cost_ns(job, loan.subtask, best)) best = band;
    }
  return best;
}

/// The subtask has no band now. The end of this event decides about it, when no state is half changed.
void SupervisorCore::await_lent(const Job& job, const Loan& loan) {
  awaited_.wait(loan.lent.producer, {job.id, SubtaskIndex{loan.subtask}});
}

void SupervisorCore::settle_loan(const SubtaskId& waiter) {
  if (!jobs_.knows(waiter.job) || jobs_[waiter.job].state != JobState::Running) return;
  Job& job = jobs_[waiter.job];
  const std::uint32_t subtask = waiter.index.value();
  if (job.hot[subtask].phase != SubtaskPhase::Placeable || job.hot[subtask].band.valid()) return;
  const Loan& loan = *job.shape->loan_of(subtask);
  const Prospect prospect = prospect_of(job, loan);
  if (!prospect.never) {
    if (prospect.drains)
      lenders_drain_until_.try_emplace(waiter, later(event_.now, config_.required_band_wait));
    else
      lenders_drain_until_.erase(waiter);
    return become_placeable(job, subtask);
  }
  PENSTOCK_COVERAGE_MARK("what was borrowed is lost");
  fail_loan(job, loan, prospect.why);
}

/// Whether a datum that is on no band that may work can still be borrowed.
SupervisorCore::Prospect SupervisorCore::prospect_of(Job& job, const Loan& loan) {
  const auto never = [](std::string why) { return Prospect{true, false, std::move(why)}; };
  const auto& [producer, output, identity] = loan.lent;
  if (!jobs_.knows(producer.job)) return never("that job is forgotten");
  const Job& lender = jobs_[producer.job];
  if (lender.state == JobState::Running) {
    const SubtaskHot& hot = lender.hot[producer.index.value()];
    if (hot.phase == SubtaskPhase::Failed) return never("it has failed");
    if (hot.phase == SubtaskPhase::Cancelled) return never("it was cancelled");
    const bool made = hot.phase == SubtaskPhase::Succeeded;
    if (made && lender.data.bytes(*lender.shape, producer.index.value(), output) == 0) return never("it is empty");
    if (made && DataDirectory::is_gone(lender, producer.index.value()) && lender.cancelling && !lender.held)
      return never("it is lost, and its job was cancelled");
    if (!made || DataDirectory::is_gone(lender, producer.index.value()))
      return {false, false, "it is not made yet, or again"};
  } else if (find_output(loan.lent) == nullptr) {
    return never("nothing of it is kept: it was released, lost, or never made");
  }
  const std::vector<WorkerSlot> holders = holders_of(loan.lent);
  if (holders.empty()) {
    if (reclaiming_) return {false, false, "its worker is not back since the restart"};
    return never("the worker that held it is lost");
  }
  bool drains = true;
  bool fits = false;
  const Template& wanted = job.shape->template_of(loan.subtask);
  const Reach reach = reaches_of(job.spec.policy).front();  // As in `open_pools`.
  for (const WorkerSlot holder : holders)
    for (const BandSlot band : workers_[holder].bands) {
      if (!is_eligible(wanted, workers_[band]) || !is_in(reach, band)) continue;
      fits = true;
      drains = drains && workers_[holder].draining;
    }
  if (!fits) return never("its worker is of another pool, has none of its labels, or is of a version that cannot lend");
  return {false, drains, drains ? "its worker drains" : "its worker is not heard of, or has not said what it holds"};
}

/// The first deadline of a subtask with draining holders.
Instant SupervisorCore::lenders_given_up_at() const {
  Instant next = kNever;
  for (const auto& [waiter, until] : lenders_drain_until_) next = std::min(next, until);
  return next;
}

/// A worker that drains takes nothing new, and may do so for ever.
void SupervisorCore::give_up_draining_lenders() {
  std::vector<SubtaskId> due;
  for (const auto& [waiter, until] : lenders_drain_until_)
    if (until <= event_.now) due.push_back(waiter);
  for (const SubtaskId& waiter : due) {
    lenders_drain_until_.erase(waiter);
    if (!jobs_.knows(waiter.job) || jobs_[waiter.job].state != JobState::Running) continue;
    Job& job = jobs_[waiter.job];
    const SubtaskHot& hot = job.hot[waiter.index.value()];
    if (hot.phase != SubtaskPhase::Placeable || hot.band.valid()) continue;
    const Loan& loan = *job.shape->loan_of(waiter.index.value());
    const Prospect prospect = prospect_of(job, loan);
    if (!prospect.drains) continue;
    PENSTOCK_COVERAGE_MARK("who lends drains for long");
    awaited_.changed(loan.lent.producer);
    fail_loan(job, loan,
              prospect.why + " since " + std::to_string(config_.required_band_wait / std::chrono::seconds{1}) + " s");
  }
}

void SupervisorCore::fail_loan(Job& job, const Loan& loan, const std::string& why) {
  FailureDetail detail;
  detail.failure = FailureClass::InputLost;
  detail.code = ErrorCode::InputLost;
  detail.message = "subtask '" + job.shape->name(loan.subtask) + "' borrows " + name_of(loan.lent) + ": " + why +
                   " (run that again, or keep replicas of it)";
  SubtaskHistory& history = job.histories.edit()[SubtaskIndex{loan.subtask}];
  history.last = detail;
  history.lines.push_back(detail.message);
  job.hot[loan.subtask].flags |= SubtaskFlag::kTroubled;
  fail_subtask(job, loan.subtask, detail);
}

/// The reason why a subtask is cancelled that reads an external input which was lost before it was read: the success of
/// the subtask with the input was reported and stays so. Null: there is no such input.
const FailureDetail* SupervisorCore::lost_loan_of(const Job& job, std::uint32_t subtask) const {
  if (job.shape->loans().empty()) return nullptr;
  for (const std::uint32_t predecessor : job.shape->predecessors(subtask)) {
    const SubtaskHot& hot = job.hot[predecessor];
    const bool lost = hot.phase == SubtaskPhase::Failed && (hot.flags & SubtaskFlag::kVisible) != 0 &&
                      job.shape->loan_of(predecessor) != nullptr;
    if (lost) return &job.histories->find(SubtaskIndex{predecessor})->last;
  }
  return nullptr;
}

/// The supposed holder denies that it has the datum: another process has its address, or a file is damaged.
void SupervisorCore::lose_lent(const Loan& loan, WorkerSlot slot) {
  const auto& [producer, output, identity] = loan.lent;
  if (!jobs_.knows(producer.job)) return;
  PENSTOCK_COVERAGE_MARK("what was to be lent was not there");
  Job& lender = jobs_[producer.job];
  const std::uint32_t subtask = producer.index.value();
  if (lender.state != JobState::Running) {
    if (const OutputLocation* at = find_output(loan.lent); at != nullptr)
      lender.outputs.erase(lender.outputs.begin() + (at - lender.outputs.data()));
    return;
  }
  if (lender.hot[subtask].phase != SubtaskPhase::Succeeded || !lender.data.in_use() || lender.data.gone(subtask))
    return;
  if (workers_[lender.hot[subtask].band].worker != slot) return lender.data.remove_replica(subtask, workers_[slot].id);
  data_.drop(lender, subtask, true);
  data_.forget_checkpoint(lender, subtask);
  if (!lender.held) find_again(lender, subtask);
}

/// A change of the producer would find the subtask.
void SupervisorCore::check_waiting_loans(const Job& job, std::uint32_t subtask) const {
  const Loan* loan = job.shape->loan_of(subtask);
  if (loan == nullptr || job.hot[subtask].band.valid()) return;
  const SubtaskId id{job.id, SubtaskIndex{subtask}};
  PENSTOCK_CHECK_MSG(awaited_.is_waiting(loan->lent.producer, id), to_string(id));
}

std::string SupervisorCore::explain_loan(Job& job, const Loan& loan) {
  return "waits to borrow " + name_of(loan.lent) + ": " + prospect_of(job, loan).why;
}

}  // namespace penstock::supervisor
