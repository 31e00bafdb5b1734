#include "tests/simulation/world/supervisor_disk.hpp"

#include <map>
#include <string>
#include <utility>

#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;
using std::chrono::microseconds;
using std::chrono::milliseconds;

SupervisorDisk::SupervisorDisk(SupervisorHost& host) : host_(host), world_(host.world()) {
  if (host.journals()) delay_max_ = world_.rng().chance(1, 4) ? milliseconds{300} : milliseconds{5};
}

void SupervisorDisk::fill(Duration duration) { full_until_ = later(world_.now(), duration); }

void SupervisorDisk::crash() {
  const std::uint64_t arrived =
      waiting_.empty() || world_.now() < full_until_ ? 0 : world_.rng().below(waiting_.size() + 1);
  write_first(arrived);
  waiting_.clear();
}

void SupervisorDisk::write(Persist&& order) {
  waiting_.push_back(std::move(order));
  if (waiting_.size() == 1) write_later(microseconds{world_.rng().between(20, delay_max_.count() / 1000)});
}

// A job on the disk is accepted, heard of or not. A job that was withdrawn is gone again.
void SupervisorDisk::write_first(std::uint64_t count) {
  std::map<JobId, std::pair<std::string, JobIdentity>> accepted;
  for (; count > 0; --count) {
    for (const Record& record : waiting_.front().records) {
      log_.write(record);
      if (const auto* job = std::get_if<record::JobAccepted>(&record))
        accepted[job->job] = {job->spec.name, job->identity};
      if (const auto* job = std::get_if<record::JobForgotten>(&record)) accepted.erase(job->job);
      if (const auto* changed = std::get_if<record::SubtaskChanged>(&record))
        world_.oracle().failures_written({changed->job, changed->subtask}, Attempt{changed->attempt}, changed->charged);
    }
    waiting_.pop_front();
  }
  for (const auto& [job, name] : accepted) {
    world_.oracle().job_accepted(job, world_.graph_of(name.first), name.second);
    if (name.first.starts_with(kNestedName)) world_.oracle().nested_accepted(job);
  }
}

void SupervisorDisk::write_later(Duration delay) {
  host_.after(delay, [this] { try_to_write(); });
}

void SupervisorDisk::try_to_write() {
  if (world_.now() < full_until_) {
    write_later(milliseconds{50});
    return host_.shell().handle(supervisor_event::StorageFailed{Error{ErrorCode::StorageFull, "disk", "is full", {}}});
  }
  // As much as waits, together.
  const std::uint64_t ticket = waiting_.back().ticket;
  write_first(waiting_.size());
  host_.shell().handle(supervisor_event::Persisted{ticket});
}

}  // namespace penstock::simulation
