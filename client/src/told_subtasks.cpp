#include "client/src/told_subtasks.hpp"

#include <utility>

namespace penstock::client {

void ToldSubtasks::keep_only_new(JobProgress& news) {
  filter(news.succeeded, JobState::Succeeded);
  filter(news.cancelled, JobState::Cancelled);
  std::erase_if(news.failures,
                [this](const SubtaskFailure& failure) { return !tell(failure.subtask.value(), JobState::Failed); });
}

JobState ToldSubtasks::end_of(SubtaskIndex subtask) const {
  return subtask.value() < ends_.size() ? ends_[subtask.value()] : JobState::Running;
}

bool ToldSubtasks::tell(std::uint32_t subtask, JobState end) {
  if (subtask >= ends_.size()) ends_.resize(std::size_t{subtask} + 1, JobState::Running);
  if (ends_[subtask] != JobState::Running) return false;
  ends_[subtask] = end;
  return true;
}

void ToldSubtasks::filter(std::vector<SubtaskRange>& ranges, JobState end) {
  std::vector<SubtaskRange> fresh;
  for (const SubtaskRange& range : ranges)
    for (std::uint32_t i = range.first.value(); i <= range.last.value(); ++i) {
      if (!tell(i, end)) continue;
      const bool extends = !fresh.empty() && fresh.back().last.value() + 1 == i && fresh.back().first >= range.first;
      if (extends)
        fresh.back().last = SubtaskIndex{i};
      else
        fresh.push_back({SubtaskIndex{i}, SubtaskIndex{i}});
    }
  ranges = std::move(fresh);
}

}  // namespace penstock::client
