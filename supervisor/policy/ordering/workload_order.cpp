#include "supervisor/policy/ordering/workload_order.hpp"

#include <algorithm>

#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/wide.hpp"

namespace penstock::policy {

GangState gang_state(std::span<const SetCount> gangs) {
  bool above = false;
  for (const SetCount& gang : gangs) {
    if (gang.active < gang.min) return GangState::BelowMin;
    above = above || gang.active > gang.min;
  }
  return above ? GangState::AboveMin : GangState::AtMin;
}

WorkloadOrder::WorkloadOrder(const Trial& trial)
    : trial_(trial), tree_(trial.owners()), members_(trial.snapshot().workloads.size()) {
  const Snapshot& snapshot = trial.snapshot();
  for (const Workload& workload : snapshot.workloads) keys_.push_back({workload.priority, workload.submitted});
  for (std::uint32_t member = 0; member < snapshot.members.size(); ++member)
    if (trial.in_pool(snapshot.members[member].workload)) members_[snapshot.members[member].workload].push_back(member);
  for (std::vector<std::uint32_t>& all : members_)
    std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
      const Member& left = snapshot.members[a];
      const Member& right = snapshot.members[b];
      if (left.order_priority != right.order_priority) {
        if (!left.order_priority || !right.order_priority) return left.order_priority.has_value();
        return *left.order_priority > *right.order_priority;
      }
      return older(snapshot, a, b);
    });
}

GangState WorkloadOrder::state(std::uint32_t workload, const Waits& counts) const {
  const std::vector<MemberSet>& sets = trial_.snapshot().workloads[workload].sets;
  std::vector<SetCount> gangs;
  for (const MemberSet& set : sets) gangs.push_back({0, set.min});
  for (const std::uint32_t member : members_[workload])
    if (counts(member)) ++gangs[trial_.snapshot().members[member].set].active;
  return gang_state(gangs);
}

bool WorkloadOrder::before(std::uint32_t a, std::uint32_t b, GangState a_state, GangState b_state) const {
  const Key& left = keys_[a];
  const Key& right = keys_[b];
  if (left.priority != right.priority) return left.priority > right.priority;
  if (a_state != b_state) return a_state < b_state;
  return left.submitted != right.submitted ? left.submitted < right.submitted : a < b;
}

std::vector<std::uint32_t> WorkloadOrder::sets_in_order(std::uint32_t workload,
                                                        const std::vector<std::int64_t>& active) const {
  const std::vector<MemberSet>& sets = trial_.snapshot().workloads[workload].sets;
  std::vector<std::uint32_t> order(sets.size());
  for (std::uint32_t set = 0; set < sets.size(); ++set) order[set] = set;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const bool a_lacks = active[a] < sets[a].min;
    const bool b_lacks = active[b] < sets[b].min;
    if (a_lacks != b_lacks) return a_lacks;
    const Fraction left{active[a], std::max<std::int64_t>(1, sets[a].min)};
    const Fraction right{active[b], std::max<std::int64_t>(1, sets[b].min)};
    return left == right ? sets[a].name < sets[b].name : left < right;
  });
  return order;
}

std::vector<std::uint32_t> WorkloadOrder::next_of_one_gang(std::uint32_t workload, const Waits& waits) const {
  std::vector<std::uint32_t> chosen;
  std::int64_t active = 0;
  for (const std::uint32_t member : members_[workload])
    if (waits(member))
      chosen.push_back(member);
    else if (is_active(trial_.state(member)))
      ++active;
  const std::int64_t lack = trial_.snapshot().workloads[workload].sets[0].min - active;
  const std::int64_t wanted = lack > 0 ? lack : 1;
  if (wanted < std::ssize(chosen)) chosen.resize(static_cast<std::size_t>(wanted));
  return chosen;
}

std::vector<std::uint32_t> WorkloadOrder::next_members(std::uint32_t workload, const Waits& waits) const {
  const Snapshot& snapshot = trial_.snapshot();
  const std::vector<MemberSet>& sets = snapshot.workloads[workload].sets;
  if (sets.size() == 1) return next_of_one_gang(workload, waits);
  std::vector<std::int64_t> counts(sets.size());
  std::vector<std::vector<std::uint32_t>> waiting(sets.size());
  for (const std::uint32_t member : members_[workload]) {
    const std::uint32_t set = snapshot.members[member].set;
    if (waits(member))
      waiting[set].push_back(member);
    else if (is_active(trial_.state(member)))
      ++counts[set];
  }
  std::vector<std::uint32_t> chosen;
  bool lacking = false;
  for (std::uint32_t set = 0; set < sets.size(); ++set) lacking = lacking || counts[set] < sets[set].min;
  for (const std::uint32_t set : sets_in_order(workload, counts)) {
    if (waiting[set].empty()) continue;
    const std::int64_t lack = sets[set].min - counts[set];
    if (lacking && lack <= 0) continue;
    const std::int64_t wanted = lacking ? lack : 1;
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(wanted, std::ssize(waiting[set])));
    chosen.insert(chosen.end(), waiting[set].begin(), waiting[set].begin() + static_cast<std::ptrdiff_t>(count));
    if (!lacking) break;
  }
  return chosen;
}

std::vector<std::uint32_t> WorkloadOrder::next_victims(std::uint32_t workload, const Waits& is_there) const {
  const Snapshot& snapshot = trial_.snapshot();
  const std::vector<MemberSet>& sets = snapshot.workloads[workload].sets;
  std::vector<std::uint32_t> all;
  if (sets.size() == 1) {
    for (const std::uint32_t member : members_[workload])
      if (is_there(member)) all.push_back(member);
    if (std::ssize(all) > sets[0].min) return {all.back()};
    return all;
  }
  std::vector<std::int64_t> counts(sets.size());
  for (const std::uint32_t member : members_[workload]) {
    if (!is_there(member)) continue;
    ++counts[snapshot.members[member].set];
    all.push_back(member);
  }
  const std::vector<std::uint32_t> order = sets_in_order(workload, counts);
  for (auto set = order.rbegin(); set != order.rend(); ++set) {
    if (counts[*set] <= sets[*set].min) continue;
    for (auto member = all.rbegin(); member != all.rend(); ++member)
      if (snapshot.members[*member].set == *set) return {*member};
  }
  return all;
}

}  // namespace penstock::policy
