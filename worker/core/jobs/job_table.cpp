#include "worker/core/jobs/job_table.hpp"

namespace penstock::worker {

JobSlot JobTable::find(JobId id) const {
  const JobSlot* found = index_.find(id);
  return found == nullptr ? JobSlot::none() : *found;
}

JobSlot JobTable::open(JobId id) {
  if (const JobSlot known = find(id); known.valid()) return known;
  JobSlot slot;
  if (free_.empty()) {
    slot = JobSlot{static_cast<std::uint32_t>(jobs_.size())};
    jobs_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  jobs_[slot.value()] = std::make_unique<JobContext>();
  jobs_[slot.value()]->id = id;
  index_[id] = slot;
  return slot;
}

void JobTable::close(JobSlot slot) {
  index_.erase(jobs_[slot.value()]->id);
  jobs_[slot.value()].reset();
  free_.push_back(slot);
}

}  // namespace penstock::worker
