// A project below its share takes back from those above theirs. Spec: policy-runai 9, Reclaim.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>

#include "supervisor/policy/actions/protection.hpp"
#include "supervisor/policy/actions/reclaim_view.hpp"
#include "supervisor/policy/actions/solve.hpp"
#include "supervisor/policy/sharing/reclaim_rules.hpp"

namespace penstock::policy {
namespace {

/// The rules for one job that reclaims. `owners` are the sums before anything is taken.
SolveRules rules_for(QuotaPass& pass, std::uint32_t workload, const Reclaimer& reclaimer,
                     const std::vector<Owner>& owners) {
  SolveRules rules;
  rules.reason = PreemptionReason::Reclaim;
  const std::uint32_t project = reclaimer.project;
  rules.not_project = project;
  const std::vector<Owner>& all = pass.trial().owners();
  if (std::any_of(all.begin(), all.end(), [](const Owner& owner) { return owner.reclaim_min_runtime.has_value(); }))
    rules.candidates_name = project + 1;  // Minimum runtimes depend on the side that reclaims.
  rules.is_candidate = [&pass, project](std::uint32_t victim) { return may_be_taken_from(pass, victim, project); };
  // Members that got a promised place earlier in this pass count as held by their project.
  std::vector<std::uint32_t> waiting;
  for (const std::uint32_t member : pass.order().members(workload))
    if (pass.waits(member)) waiting.push_back(member);
  rules.validate = [&pass, &owners, waiting, reclaimer](const std::vector<TakenMembers>& victims) {
    Reclaimer now = reclaimer;
    now.amount = {};
    for (const std::uint32_t member : waiting)
      if (pass.trial().state(member) == MemberState::Promised) now.amount += pass.trial().amount(member);
    std::vector<ReclaimedPiece> pieces;
    for (const TakenMembers& victim : victims) {
      const std::uint32_t owner = pass.snapshot().workloads[victim.workload].project;
      if (!keeps_protected_core(pass, victim.workload, now.project)) return false;
      for (const std::vector<std::uint32_t>& lost : lost_pieces(pass, victim)) {
        ReclaimedPiece piece{owner, {}};
        for (const std::uint32_t member : lost) piece.amount += pass.trial().amount(member);
        pieces.push_back(piece);
      }
    }
    if (pass.parts().own_rules && would_come_back(owners, now, pieces)) return false;
    return reclaim_is_fair(owners, now, pieces, pass.parts().saturation_multiplier);
  };
  return rules;
}

/// Members that one search places beyond the next ones, at most. Not a setting: the next pass serves the others.
constexpr std::size_t kMoreMax = 8;

/// The members that the job's project may reclaim for beyond the next ones, in their order. A job of several sets has
/// none, because the set of its next member depends on those before.
std::vector<std::uint32_t> members_beyond(const QuotaPass& pass, const std::vector<std::uint32_t>& next,
                                          Reclaimer reclaimer, std::uint32_t workload) {
  std::vector<std::uint32_t> more;
  if (!pass.parts().own_rules || pass.snapshot().workloads[workload].sets.size() != 1) return more;
  std::vector<std::uint32_t> all = next;
  for (const std::uint32_t member : pass.order().members(workload)) {
    if (more.size() == kMoreMax) break;
    if (!pass.waits(member) || std::find(next.begin(), next.end(), member) != next.end()) continue;
    all.push_back(member);
    reclaimer.amount = pass.amount_of(all);
    if (!may_reclaim(pass.trial().owners(), reclaimer) ||
        pass.is_refused_at_best(workload, all, Leavers::OtherProjects))
      break;
    more.push_back(member);
  }
  return more;
}

/// Whether the amount is within the guarantees of its project, and of each department above.
bool has_guaranteed(const std::vector<Owner>& owners, const Reclaimer& reclaimer) {
  for (std::uint32_t at = reclaimer.project; at != kNone; at = owners[at].parent)
    if (!would_be_within_guarantee(owners[at], reclaimer.amount)) return false;
  return true;
}

/// Jobs for which nothing could be taken, as the trial is: another job of the same project with the same wishes fails
/// as well, because victims are of other projects and neither age nor priority counts between projects.
class Failures {
 public:
  bool contains(const QuotaPass& pass, std::uint32_t workload) const {
    const std::optional<Key> key = key_of(pass, workload);
    return key && keys_.contains(*key);
  }
  void add(const QuotaPass& pass, std::uint32_t workload) {
    if (const std::optional<Key> key = key_of(pass, workload)) keys_.insert(*key);
  }
  void clear() { keys_.clear(); }

 private:
  using Key = std::pair<std::array<std::int64_t, 10>, std::uint32_t>;

  /// Only of jobs with one gang of which no member has a place yet and all members want the same on the
  /// same bands.
  static std::optional<Key> key_of(const QuotaPass& pass, std::uint32_t workload) {
    const Workload& source = pass.snapshot().workloads[workload];
    const std::vector<std::uint32_t>& members = pass.order().members(workload);
    const Member& first = pass.snapshot().members[members.front()];
    for (const std::uint32_t member : members) {
      const Member& each = pass.snapshot().members[member];
      const bool same = each.band_list == first.band_list && each.request == first.request &&
                        each.devices == first.devices && each.device_share == first.device_share &&
                        each.device_memory_mib == first.device_memory_mib;
      if (!same || !pass.waits(member)) return std::nullopt;
    }
    if (source.sets.size() != 1) return std::nullopt;
    return Key{{source.project, source.preemptible, source.sets[0].min, std::ssize(members), first.request.cpu,
                first.request.memory, first.request.gpu, first.devices, first.device_share, first.device_memory_mib},
               first.band_list};
  }

  std::set<Key> keys_;
};

}  // namespace

void reclaim(QuotaPass& pass) {
  const WorkloadOrder::Waits waits = [&pass](std::uint32_t member) { return pass.waits(member); };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  agenda.add_all(pass.candidates());
  Failures failures;
  ReclaimView view{pass};
  while (const std::optional<std::uint32_t> workload = agenda.take()) {
    const std::vector<std::uint32_t> members = pass.order().next_members(*workload, waits);
    // Amounts that victims give up count before a limit above both is tested: the search does that.
    if (members.empty() || pass.is_refused_at_best(*workload, members, Leavers::OtherProjects)) continue;
    const Workload& source = pass.snapshot().workloads[*workload];
    const Reclaimer reclaimer{source.project, pass.amount_of(members), source.preemptible};
    if (!may_reclaim(pass.trial().owners(), reclaimer)) continue;
    if (failures.contains(pass, *workload)) continue;
    const std::int64_t missing = pass.snapshot().members[members.front()].request.gpu - view.free_devices();
    if (missing > 0 && missing > view.most_on_a_band(source.project)) {
      failures.add(pass, *workload);
      continue;
    }
    SolveRules rules = rules_for(pass, *workload, reclaimer, view.owners());
    rules.victims_move = rules.may_give_way = pass.parts().victims_move;
    rules.may_lose = view.may_lose(source.project);
    rules.free_devices = view.free_devices();
    rules.more = members_beyond(pass, members, reclaimer, *workload);
    bool solved = solve(pass, *workload, rules);
    if (!solved && pass.parts().own_rules && has_guaranteed(view.owners(), reclaimer)) {
      // The search takes more and more, and serves victims first where they are the more deprived: a victim that may
      // not be lost together with others may still be lost alone.
      rules.one_piece = true;
      solved = solve(pass, *workload, rules);
    }
    if (solved) {
      failures.clear();
      view.look_again();
    } else {
      failures.add(pass, *workload);
    }
  }
}

}  // namespace penstock::policy
