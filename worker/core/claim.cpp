// WorkerCore: the claim for the next term of a supervisor, so that it can adopt what is here.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {
namespace {

/// Attempts and data in one part of a claim, by `report_batch_max`: about a frame with its default.
constexpr std::size_t kReportsInAPart = 8;

ClaimedStage stage_of(SubtaskState state) {
  if (state == SubtaskState::Cached) return ClaimedStage::Waiting;
  return state == SubtaskState::Running || state == SubtaskState::Yielded || state == SubtaskState::Storing
             ? ClaimedStage::Running
             : ClaimedStage::Queued;
}

}  // namespace

// Fault F05. First the reports that may not be written down, then the present state: so a success that is new to the
// next term comes before everything that rests on it.
void WorkerCore::on(const worker_event::SupervisorReturned&) {
  PENSTOCK_COVERAGE_MARK("a worker goes on under another life of the supervisor");
  out_->add(worker_action::Reclaim{});
  // The buffer keeps the batch, and it is sent below with the others.
  if (!reports_.empty()) static_cast<void>(reports_.take(now_));
  reports_.repeat([this](ReportBatch&& batch) { out_->add(worker_action::SendReport{std::move(batch)}); });
  // Policy publishes its plan again; until then no limit of an earlier term applies.
  entitlement_version_ = 0;
  WorkerClaim claim;
  std::size_t room = kReportsInAPart * config_.report_batch_max;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    claim_job(JobSlot{slot}, claim, room);
    leave_barriers(JobSlot{slot});
    for (const auto& band : bands_) {
      if (stays_closed(JobSlot{slot}, *band)) continue;
      band->prepare.set_entitlement(JobSlot{slot}, MilliSlots::max(), 0);
      band->execute.set_entitlement(JobSlot{slot}, MilliSlots::max(), 0);
      band->dirty = true;
    }
  }
  send_claim(claim, true);
  told_empty_ = false;
  if (yielded_total_ > 0) tell_yields();
  if (draining_) report_drain_state();
}

void WorkerCore::claim_job(JobSlot slot, WorkerClaim& claim, std::size_t& room) {
  const JobContext& job = jobs_[slot];
  const auto next_part = [&](bool may_part) {
    if (room == 0 && may_part) {
      PENSTOCK_COVERAGE_MARK("a claim has several parts");
      send_claim(claim, false);
      claim.jobs.push_back(ClaimedJob{job.id, {}, {}, job.identity});
      room = kReportsInAPart * config_.report_batch_max;
    }
    room -= std::min<std::size_t>(room, 1);
  };
  claim.jobs.push_back(ClaimedJob{job.id, {}, {}, job.identity});
  for (RecordIndex index = job.records; index.valid(); index = records_[index].next_of_job) {
    const SubtaskRecord& record = records_[index];
    next_part(true);
    claim.jobs.back().attempts.push_back({record.subtask, record.attempt, record.band, stage_of(record.state)});
  }
  std::vector<ClaimedDatum> data;
  for (DatumIndex index = job.data; index.valid(); index = data_[index].next_of_job) {
    const Datum& datum = data_[index];
    const bool here =
        datum.place == DatumPlace::Here || datum.place == DatumPlace::Spilled || datum.place == DatumPlace::Restoring;
    if (here) data.push_back({datum.key.producer.index, datum.key.output, datum.bytes.value()});
  }
  std::sort(data.begin(), data.end(), [](const ClaimedDatum& a, const ClaimedDatum& b) {
    return a.producer != b.producer ? a.producer < b.producer : a.output < b.output;
  });
  for (std::size_t i = 0; i < data.size(); ++i) {
    next_part(i == 0 || data[i].producer != data[i - 1].producer);
    claim.jobs.back().data.push_back(data[i]);
  }
}

void WorkerCore::send_claim(WorkerClaim& claim, bool last) {
  claim.last = last;
  claim.draining = draining_;
  out_->add(worker_action::SendClaim{std::exchange(claim, {})});
}

}  // namespace penstock::worker
