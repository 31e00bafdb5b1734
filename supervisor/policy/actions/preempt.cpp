// Inside one project the more important job takes from the less important. Spec: policy-runai 9, Preempt.
#include <algorithm>
#include <map>
#include <vector>

#include "supervisor/policy/actions/give_turn.hpp"
#include "supervisor/policy/actions/protection.hpp"
#include "supervisor/policy/actions/solve.hpp"

namespace penstock::policy {
namespace {

/// The page makes no fairness test here. Jobs that may be preempted themselves need one: a project that grew beyond its
/// share by preempting would be reclaimed from in the next pass, start its less important jobs again, and preempt them
/// again, for ever. A job that may not be preempted starts once and stays.
/// A project also fails the test if it stays as far beyond its share, but with one large gang instead of several
/// smaller ones: reclaiming takes the gang as a whole, and of the smaller ones only those beyond the share. `gained`:
/// the job's piece; `lost`: the largest of its victims'.
bool stays_fair(const std::array<OwnedAmount, kResources>& before, const Owner& after, const Resources& gained,
                const Resources& lost) {
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    const OwnedAmount& owned = after.of[resource];
    if (at_most(owned.allocated, owned.allocatable())) continue;
    if (owned.allocated > before[resource].allocated || gained.of(resource) > lost.of(resource)) return false;
  }
  return true;
}

/// By resource, the most that is lost at once.
Resources largest_piece(const QuotaPass& pass, const std::vector<TakenMembers>& victims) {
  Resources largest;
  for (const TakenMembers& victim : victims) {
    for (const std::vector<std::uint32_t>& lost : lost_pieces(pass, victim)) {
      Resources piece;
      for (const std::uint32_t member : lost) piece += pass.trial().amount(member);
      largest = {std::max(largest.cpu, piece.cpu), std::max(largest.memory, piece.memory),
                 std::max(largest.gpu, piece.gpu)};
    }
  }
  return largest;
}

/// Searches for victims of turns in one project and pass. Not a setting: each costs as much as one for a more important
/// job, and thousands of jobs may have starved.
constexpr int kTurnsTried = 4;

/// Jobs that have held nothing for `starvation_after`, while younger ones of their project and priority started where
/// there was no room for them. Each has its turn: it takes from those.
class Turns {
 public:
  explicit Turns(QuotaPass& pass) : pass_(pass), tried_(pass.snapshot().projects.size(), 0) {}

  bool may_have(std::uint32_t workload) {
    const Workload& subject = of(workload);
    if (!pass_.parts().own_rules) return false;
    if (!has_starved(subject, pass_.snapshot().now, pass_.parts().starvation_after)) return false;
    if (pass_.holds_anything(workload) || tried_[subject.project] == kTurnsTried) return false;
    const auto youngest = youngest_of(subject.project).find(subject.priority);
    if (youngest == youngest_of(subject.project).end() || youngest->second <= subject.submitted) return false;
    ++tried_[subject.project];
    return true;
  }
  static bool may_take(const Workload& subject, const Workload& other) {
    return other.priority == subject.priority && other.submitted > subject.submitted;
  }
  /// The jobs that hold something have changed: no more turns in that project.
  void has_given(std::uint32_t project) { tried_[project] = kTurnsTried; }

 private:
  /// When the youngest job that holds something was submitted.
  using ByPriority = std::map<std::int64_t, std::int64_t>;

  const Workload& of(std::uint32_t workload) const { return pass_.snapshot().workloads[workload]; }
  const ByPriority& youngest_of(std::uint32_t project) {
    const auto [at, is_new] = youngest_.try_emplace(project);
    if (!is_new) return at->second;
    for (const std::uint32_t each : pass_.victims_in_order()[project]) {
      const auto [of_priority, added] = at->second.try_emplace(of(each).priority, of(each).submitted);
      of_priority->second = std::max(of_priority->second, of(each).submitted);
    }
    return at->second;
  }

  QuotaPass& pass_;
  std::vector<int> tried_;                        ///< By project.
  std::map<std::uint32_t, ByPriority> youngest_;  ///< By project.
};

}  // namespace

void preempt(QuotaPass& pass) {
  const WorkloadOrder::Waits waits = [&pass](std::uint32_t member) { return pass.waits(member); };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  agenda.add_all(pass.candidates());
  Turns turns{pass};
  while (const std::optional<std::uint32_t> workload = agenda.take()) {
    const std::vector<std::uint32_t> members = pass.order().next_members(*workload, waits);
    const Workload& source = pass.snapshot().workloads[*workload];
    if (members.empty()) continue;
    // Victims leave before limits are tested.
    if (pass.is_refused_at_best(*workload, members, Leavers::OwnProject)) continue;
    // The least important come first.
    const std::vector<std::uint32_t>& own = pass.victims_in_order()[source.project];
    const bool is_turn = turns.may_have(*workload);
    if (own.empty() || (!is_turn && pass.snapshot().workloads[own.front()].priority >= source.priority)) continue;
    SolveRules rules;
    rules.reason = is_turn ? PreemptionReason::Turn : PreemptionReason::Priority;
    if (is_turn) rules.candidates_name = *workload + 1;
    rules.victims_move = rules.may_give_way = pass.parts().victims_move;
    rules.only_project = source.project;
    rules.is_candidate = [&](std::uint32_t victim) {
      const Workload& other = pass.snapshot().workloads[victim];
      const bool comes_before = other.priority < source.priority || (is_turn && Turns::may_take(source, other));
      return comes_before && pass.snapshot().may_take(source, other) && may_be_taken_from(pass, victim, kNone);
    };
    const bool must_stay_fair = source.preemptible && pass.parts().own_rules;
    const std::array<OwnedAmount, kResources> before = pass.trial().owners()[source.project].of;
    rules.validate = [&](const std::vector<TakenMembers>& victims) {
      const Owner& after = pass.trial().owners()[source.project];
      if (must_stay_fair && !stays_fair(before, after, pass.amount_of(members), largest_piece(pass, victims)))
        return false;
      return std::all_of(victims.begin(), victims.end(), [&pass](const TakenMembers& victim) {
        return keeps_protected_core(pass, victim.workload, kNone);
      });
    };
    if (solve(pass, *workload, rules) && is_turn) turns.has_given(source.project);
  }
}

}  // namespace penstock::policy
