#include "worker/core/reports/claim_writer.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {
namespace {

ClaimedStage stage_of(SubtaskState state) {
  if (state == SubtaskState::Cached) return ClaimedStage::Waiting;
  return state == SubtaskState::Running || state == SubtaskState::Yielded || state == SubtaskState::Storing
             ? ClaimedStage::Running
             : ClaimedStage::Queued;
}

}  // namespace

// About a frame in one part, with the default of `report_batch_max`.
ClaimWriter::ClaimWriter(const WorkerConfig& config, EventContext& event, const JobTable& jobs,
                         const SubtaskTable& subtasks, const DataTable& data)
    : part_max_(std::size_t{8} * config.report_batch_max),
      event_(event),
      jobs_(jobs),
      subtasks_(subtasks),
      data_(data),
      room_(part_max_) {}

void ClaimWriter::add_job(JobSlot slot, bool draining) {
  const JobContext& job = jobs_[slot];
  const auto next_part = [&](bool may_part) {
    if (room_ == 0 && may_part) {
      PENSTOCK_COVERAGE_MARK("a claim has several parts");
      send(false, draining);
      claim_.jobs.push_back(ClaimedJob{job.id, {}, {}, job.identity});
      room_ = part_max_;
    }
    room_ -= std::min<std::size_t>(room_, 1);
  };
  claim_.jobs.push_back(ClaimedJob{job.id, {}, {}, job.identity});
  for (RecordIndex index = job.records; index.valid(); index = subtasks_[index].next_of_job) {
    const SubtaskRecord& record = subtasks_[index];
    next_part(true);
    claim_.jobs.back().attempts.push_back(
        {record.subtask, record.attempt, record.band, stage_of(record.state), record.devices});
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
    claim_.jobs.back().data.push_back(data[i]);
  }
}

void ClaimWriter::send(bool last, bool draining) {
  claim_.last = last;
  claim_.draining = draining;
  if (last) room_ = part_max_;
  event_.out->add(worker_action::SendClaim{std::exchange(claim_, {})});
}

}  // namespace penstock::worker
