// State that the actions over projects share during a pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "supervisor/policy/actions/best_case_room.hpp"
#include "supervisor/policy/actions/chosen_pieces.hpp"
#include "supervisor/policy/fitting/band_score.hpp"
#include "supervisor/policy/ordering/agenda.hpp"
#include "supervisor/policy/ordering/victim_order.hpp"
#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/sharing/capacity_rules.hpp"

namespace penstock::policy {

/// One pass over one pool of projects. Each action goes on from where the one before has left the trial; the plan is
/// the difference between the trial's end and its beginning. Spec: policy-runai 3.
class QuotaPass {
 public:
  QuotaPass(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts);

  Trial& trial() { return trial_; }
  const Trial& trial() const { return trial_; }
  const Snapshot& snapshot() const { return trial_.snapshot(); }
  const Parts& parts() const { return trial_.parts(); }
  const WorkloadOrder& order() const { return order_; }

  enum class PlacesKept : std::uint8_t { Too, NotThose };
  /// Jobs with enough waiting members to start, in any order: those that an action looks at. No member leaves for a job
  /// for which only a place is kept.
  std::vector<std::uint32_t> candidates(PlacesKept places_kept = PlacesKept::NotThose) const;
  /// The same for one project.
  std::vector<std::uint32_t> candidates_of(std::uint32_t project) const;
  /// Whether the job belongs to a project, not to a department or to no owner.
  bool is_owned(std::uint32_t workload) const;
  bool waits(std::uint32_t member) const { return trial_.state(member) == MemberState::Pending; }
  /// By project, the jobs that may be preempted and hold something, in the order in which they are taken from, as the
  /// trial is now. REQUIRES: not while something is tried that may be undone. Cost: that of sorting them, once; then of
  /// sorting those of the projects that have changed.
  const std::vector<std::vector<std::uint32_t>>& victims_in_order();
  /// Pieces of these jobs across all projects. REQUIRES: as above; after `victims_in_order`, which keeps it up to date.
  VictimOrder& victim_order() { return victim_order_; }
  BestCaseRooms& best_case_rooms() { return best_case_rooms_; }
  /// For one search at a time.
  ChosenPieces& chosen_pieces() { return chosen_pieces_; }
  /// Whether it holds a place or is promised one.
  bool holds_anything(std::uint32_t workload) const;
  /// The amount that the members count for while they wait.
  Resources amount_of(const std::vector<std::uint32_t>& members) const;
  std::optional<Refusal> refused(std::uint32_t workload, const std::vector<std::uint32_t>& members) const;
  /// Whether a limit or a guarantee refuses them even when all those have left that might.
  bool is_refused_at_best(std::uint32_t workload, const std::vector<std::uint32_t>& members, Leavers leavers) const;

  /// Places all of them, or none. A gang of which a part has to wait waits as one. `allowed`: bands, empty for all.
  bool place_all(std::uint32_t workload, const std::vector<std::uint32_t>& members, Trial::When when,
                 const std::vector<bool>& allowed);

  /// Places that an earlier pass promised are given first: others have left them, or moved, or are about to. A promise
  /// that does not hold any more, or not for enough of a gang, is void; the others of its job stay. The rest of a gang
  /// begins at once where there is room beside all promises. Cost: O(carried reservations), not bands.
  void settle_carried();
  /// Whether the job held nothing and begins in this pass on places that an earlier pass promised it.
  bool begins_on_carried(std::uint32_t workload) const { return begins_on_carried_[workload]; }
  bool all_start(const std::vector<std::uint32_t>& members) const;
  /// Whether all could start, on any bands. Nothing is changed.
  bool could_start_at_once(std::uint32_t workload, const std::vector<std::uint32_t>& members);

  /// Records a member that the pass tells to leave, and the reason.
  void note_victim(std::uint32_t member, PreemptionReason reason, std::uint32_t beneficiary);
  /// Members that were told to leave for `from` leave for `to`.
  void pass_on(std::uint32_t from, std::uint32_t to);
  void note_refusal(std::uint32_t workload, const Refusal& refusal);
  void write(Plan& plan) const;

 private:
  bool any_waiting(std::uint32_t workload) const;
  bool is_candidate(std::uint32_t workload, PlacesKept places_kept) const;
  /// Whether it has some members of a set, and fewer than it needs.
  bool is_part_of_gang(std::uint32_t workload) const;
  void start_rest(std::uint32_t workload, const std::vector<std::uint32_t>& members);
  bool place_where(std::uint32_t workload, const std::vector<std::uint32_t>& members,
                   const std::function<std::optional<BandChoice>(std::uint32_t member)>& choose);
  std::optional<BandChoice> carried_place(const CarriedReservation& reservation) const;
  bool place_carried(std::uint32_t workload, const std::vector<const CarriedReservation*>& carried);
  std::vector<const CarriedReservation*> carried_that_hold(std::uint32_t workload,
                                                           const std::vector<const CarriedReservation*>& carried);
  /// `roomiest`: most of each that is free on a band; `largest`: the most of each that any has at all.
  void explain(std::uint32_t workload, const Resources& roomiest, const Resources& largest, Plan& plan) const;

  Trial trial_;
  WorkloadOrder order_;
  std::vector<bool> has_children_;                            ///< By project.
  std::vector<std::vector<std::uint32_t>> jobs_of_;           ///< By project.
  std::vector<std::vector<std::uint32_t>> preemptible_jobs_;  ///< By project.
  std::vector<std::vector<std::uint32_t>> victims_;           ///< By project, as the trial was at `victims_mark_`.
  std::optional<std::size_t> victims_mark_;
  VictimOrder victim_order_;
  BestCaseRooms best_case_rooms_;
  ChosenPieces chosen_pieces_;
  std::vector<PreemptionReason> reasons_;         ///< By member.
  std::vector<std::uint32_t> beneficiaries_;      ///< By member.
  std::vector<std::optional<Refusal>> refusals_;  ///< By workload.
  std::vector<bool> begins_on_carried_;           ///< By workload.
};

// The actions, the least disruptive first.
void allocate(QuotaPass& pass);
void consolidate(QuotaPass& pass);
void reclaim(QuotaPass& pass);
void preempt(QuotaPass& pass);
void break_stale_gangs(QuotaPass& pass);

}  // namespace penstock::policy
