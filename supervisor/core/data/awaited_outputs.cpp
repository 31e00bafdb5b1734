#include "supervisor/core/data/awaited_outputs.hpp"

#include <algorithm>
#include <utility>

namespace penstock::supervisor {

void AwaitedOutputs::wait(const SubtaskId& producer, const SubtaskId& waiter) {
  waiters_[producer].push_back(waiter);
  changed_.push_back(producer);
}

void AwaitedOutputs::all_changed(JobId job) {
  for (const auto& [producer, waiters] : waiters_)
    if (!job.valid() || producer.job == job) changed_.push_back(producer);
}

void AwaitedOutputs::forget_waiters(JobId job) {
  for (auto entry = waiters_.begin(); entry != waiters_.end();) {
    std::erase_if(entry->second, [&](const SubtaskId& waiter) { return waiter.job == job; });
    entry = entry->second.empty() ? waiters_.erase(entry) : std::next(entry);
  }
}

bool AwaitedOutputs::is_waiting(const SubtaskId& producer, const SubtaskId& waiter) const {
  const auto found = waiters_.find(producer);
  return found != waiters_.end() &&
         std::find(found->second.begin(), found->second.end(), waiter) != found->second.end();
}

std::vector<SubtaskId> AwaitedOutputs::take_changed() {
  std::vector<SubtaskId> producers = std::exchange(changed_, {});
  std::sort(producers.begin(), producers.end());
  producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
  return producers;
}

std::vector<SubtaskId> AwaitedOutputs::take_waiters(const SubtaskId& producer) {
  const auto found = waiters_.find(producer);
  if (found == waiters_.end()) return {};
  std::vector<SubtaskId> waiters = std::move(found->second);
  waiters_.erase(found);
  return waiters;
}

void AwaitedOutputs::forget_changes(const std::vector<SubtaskId>& producers) {
  std::erase_if(changed_,
                [&](const SubtaskId& id) { return std::binary_search(producers.begin(), producers.end(), id); });
}

}  // namespace penstock::supervisor
