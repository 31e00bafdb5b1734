#include "supervisor/core/job.hpp"

#include <algorithm>
#include <utility>

namespace penstock::supervisor {
namespace {

constexpr std::uint32_t biased(std::int32_t priority) {
  return static_cast<std::uint32_t>(std::int64_t{priority} - INT32_MIN);
}

}  // namespace

// The rank already sorts by the graph's own priorities; only a later change has to outrank it.
std::uint64_t Job::order_key(std::uint32_t subtask) const {
  const std::uint32_t change = extras.keys_carry_priority ? biased(user_priority(subtask)) : biased(0);
  return (std::uint64_t{~change} << 32U) | graph.shape->rank_of(subtask);
}

std::uint64_t Job::worker_priority(std::uint32_t subtask) const {
  std::uint32_t priority = biased(user_priority(subtask));
  if (spec.parent.any()) [[unlikely]]
    priority += std::min(spec.parent->depth, UINT32_MAX - priority);
  return (std::uint64_t{priority} << 32U) | ~graph.shape->rank_of(subtask);
}

std::int32_t Job::user_priority(std::uint32_t subtask) const {
  if (!extras.priority_changes->empty())
    if (const std::int32_t* changed = extras.priority_changes->find(SubtaskIndex{subtask})) return *changed;
  return graph.shape->user_priority(subtask);
}

std::uint32_t Job::template_index_of(std::uint32_t subtask) const {
  if ((hot[subtask].flags & SubtaskFlag::kTroubled) != 0)
    if (const SubtaskHistory* history = extras.histories->find(SubtaskIndex{subtask}); history != nullptr)
      if (history->larger.valid()) return history->larger.value();
  return graph.shape->template_index(subtask);
}

Template Job::template_at(std::uint32_t index) const {
  const std::vector<Template>& graphs = graph.shape->graph().templates;
  if (index < graphs.size()) return graphs[index];
  const LargerTemplate& larger = (*graph.larger_templates)[index - graphs.size()];
  Template content = graphs[larger.of];
  content.request.memory = larger.memory;
  return content;
}

Bytes Job::memory_of(std::uint32_t subtask) const {
  const std::vector<Template>& graphs = graph.shape->graph().templates;
  const std::uint32_t index = template_index_of(subtask);
  return index < graphs.size() ? graphs[index].request.memory : (*graph.larger_templates)[index - graphs.size()].memory;
}

std::optional<Duration> time_left_of(const Job& job, Instant now) {
  if (job.status.limit_since == kNever || job.status.state != JobState::Running) return std::nullopt;
  return std::max(later(job.status.limit_since, job.spec.time_limit) - now, Duration{0});
}

}  // namespace penstock::supervisor
