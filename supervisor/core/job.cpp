#include "supervisor/core/job.hpp"

#include <utility>

namespace penstock::supervisor {
namespace {

constexpr std::uint32_t biased(std::int32_t priority) {
  return static_cast<std::uint32_t>(std::int64_t{priority} - INT32_MIN);
}

}  // namespace

// The rank already sorts by the graph's own priorities; only a later change has to outrank it.
std::uint64_t Job::order_key(std::uint32_t subtask) const {
  const std::uint32_t change = keys_carry_priority ? biased(user_priority(subtask)) : biased(0);
  return (std::uint64_t{~change} << 32U) | shape->rank_of(subtask);
}

std::uint64_t Job::worker_priority(std::uint32_t subtask) const {
  return (std::uint64_t{biased(user_priority(subtask))} << 32U) | ~shape->rank_of(subtask);
}

std::int32_t Job::user_priority(std::uint32_t subtask) const {
  if (!priority_changes->empty())
    if (const std::int32_t* changed = priority_changes->find(SubtaskIndex{subtask})) return *changed;
  return shape->user_priority(subtask);
}

std::uint32_t Job::template_index_of(std::uint32_t subtask) const {
  if ((hot[subtask].flags & SubtaskFlag::kTroubled) != 0)
    if (const SubtaskHistory* history = histories->find(SubtaskIndex{subtask}); history != nullptr)
      if (history->larger.valid()) return history->larger.value();
  return shape->template_index(subtask);
}

Template Job::template_at(std::uint32_t index) const {
  const std::vector<Template>& graphs = shape->graph().templates;
  if (index < graphs.size()) return graphs[index];
  const LargerTemplate& larger = (*larger_templates)[index - graphs.size()];
  Template content = graphs[larger.of];
  content.request.memory = larger.memory;
  return content;
}

Bytes Job::memory_of(std::uint32_t subtask) const {
  const std::vector<Template>& graphs = shape->graph().templates;
  const std::uint32_t index = template_index_of(subtask);
  return index < graphs.size() ? graphs[index].request.memory : (*larger_templates)[index - graphs.size()].memory;
}

LocalSet& Job::make_local(BandSlot band) {
  if (local_of.empty()) first_local = band.value();
  if (band.value() < first_local) {
    local_of.insert(local_of.begin(), first_local - band.value(), ~0U);
    first_local = band.value();
  }
  if (local_of.size() <= band.value() - first_local) local_of.resize(band.value() - first_local + 1, ~0U);
  local_of[band.value() - first_local] = static_cast<std::uint32_t>(locals.size());
  return locals.emplace_back();
}

}  // namespace penstock::supervisor
