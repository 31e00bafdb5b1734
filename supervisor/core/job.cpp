#include "supervisor/core/job.hpp"

#include "common/base/prefetch.hpp"

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
  if (!priority_changes.empty())
    if (const std::int32_t* changed = priority_changes.find(SubtaskIndex{subtask})) return *changed;
  return shape->user_priority(subtask);
}

LocalSet& Job::local(BandSlot band) {
  if (local_of.size() <= band.value()) local_of.resize(band.value() + 1, ~0U);
  std::uint32_t& position = local_of[band.value()];
  if (position == ~0U) {
    position = static_cast<std::uint32_t>(locals.size());
    locals.emplace_back();
  }
  return locals[position];
}

LocalSet* Job::find_local(BandSlot band) {
  return band.value() < local_of.size() && local_of[band.value()] != ~0U ? &locals[local_of[band.value()]] : nullptr;
}

void Job::prefetch_local(BandSlot band) const {
  if (band.value() >= local_of.size() || local_of[band.value()] == ~0U) return;
  const LocalSet* local = &locals[local_of[band.value()]];
  prefetch_line(local);
  prefetch_line(reinterpret_cast<const char*>(local) + 64);
}

void Job::prefetch_next(BandSlot band) const {
  if (band.value() >= local_of.size() || local_of[band.value()] == ~0U) return;
  const LocalSet& local = locals[local_of[band.value()]];
  const std::uint64_t key = local.best_ready();
  if (key == LocalSet::kNone) return;
  local.prefetch_ready();
  const std::uint32_t subtask = shape->at_rank(static_cast<std::uint32_t>(key));
  prefetch_line(&hot[subtask]);
  shape->prefetch(subtask);
}

}  // namespace penstock::supervisor
