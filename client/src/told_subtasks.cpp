#include "client/src/told_subtasks.hpp"

#include <utility>

namespace penstock::client {

void ToldSubtasks::keep_only_new(JobProgress& news) {
  filter(news.succeeded);
  filter(news.cancelled);
  std::erase_if(news.failures, [this](const SubtaskFailure& failure) { return !tell(failure.subtask.value()); });
}

bool ToldSubtasks::tell(std::uint32_t subtask) {
  if (subtask >= told_.size()) told_.resize(std::size_t{subtask} + 1);
  if (told_[subtask]) return false;
  told_[subtask] = true;
  return true;
}

void ToldSubtasks::filter(std::vector<SubtaskRange>& ranges) {
  std::vector<SubtaskRange> fresh;
  for (const SubtaskRange& range : ranges)
    for (std::uint32_t i = range.first.value(); i <= range.last.value(); ++i) {
      if (!tell(i)) continue;
      const bool extends = !fresh.empty() && fresh.back().last.value() + 1 == i && fresh.back().first >= range.first;
      if (extends)
        fresh.back().last = SubtaskIndex{i};
      else
        fresh.push_back({SubtaskIndex{i}, SubtaskIndex{i}});
    }
  ranges = std::move(fresh);
}

}  // namespace penstock::client
