#include "tools/policy/replay/replay_measures.hpp"

namespace penstock::policy {

ReplayMeasures::ReplayMeasures(const ReplayTrace& trace, Instant begins, std::int64_t samples)
    : begins_s_(trace.jobs.empty() ? 0 : trace.jobs.front().arrives_s),
      begins_(begins),
      typical_(trace),
      rooms_(typical_),
      held_(trace.projects.size(), 0),
      wanted_(trace.projects.size(), 0),
      all_(begins_s_, samples),
      arriving_(begins_s_, 2),
      now_(begins),
      last_(begins) {
  for (const Band& band : trace.bands) capacity_ += band.capacity.gpu;
}

void ReplayMeasures::pass_time(Instant now) {
  if (now <= now_) return;
  pending_.emplace_back(measure(), now - now_);
  now_ = now;
}

void ReplayMeasures::go_on() {
  last_ = now_;
  for (const auto& [sample, time] : pending_) all_.hold(sample, time);
  since_arrival_.insert(since_arrival_.end(), pending_.begin(), pending_.end());
  pending_.clear();
}

void ReplayMeasures::job_came(const ReplayJob& job) {
  go_on();
  for (const auto& [sample, time] : since_arrival_) arriving_.hold(sample, time);
  since_arrival_.clear();
  wanted_[job.project] += job.members * asked_by_member(job);
}

void ReplayMeasures::job_left(const ReplayJob& job) { wanted_[job.project] -= job.members * asked_by_member(job); }

std::int64_t ReplayMeasures::second_of(Instant at) const {
  return begins_s_ + (at - begins_) / std::chrono::seconds{1};
}

ReplaySample ReplayMeasures::measure() const {
  ReplaySample sample;
  std::int64_t used = 0;
  for (const std::int64_t each : held_) used += each;
  const auto capacity = static_cast<double>(capacity_);
  sample.used = capacity_ > 0 ? static_cast<double>(used) / capacity : 0;
  sample.fragmented = rooms_.unusable_part();
  sample.waiting = static_cast<double>(waiting_);
  const std::vector<double> entitled = equal_shares({wanted_.begin(), wanted_.end()}, capacity);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (entitled[i] > 0) ratios.push_back(static_cast<double>(held_[i]) / entitled[i]);
  sample.judged = !ratios.empty();
  sample.fairness = jain_index(ratios);
  return sample;
}

void ReplayMeasures::report(ReplayReport& report) const {
  report.ended_s = second_of(last_);
  report.samples = all_.samples();
  report.mean = all_.mean();
  if (!arriving_.samples().empty()) report.while_arriving = arriving_.mean();
}

}  // namespace penstock::policy
