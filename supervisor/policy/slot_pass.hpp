// State that the actions that count slots share during a pass.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/slot_trial.hpp"

namespace penstock::policy {

/// The properties that decide on which bands a member fits.
struct RequestShape {
  std::int64_t slots = 0;
  bool single_band = false;
  std::uint32_t band_list = kNone;
  std::uint32_t part_list = kNone;
  friend auto operator<=>(const RequestShape&, const RequestShape&) = default;
};
inline RequestShape shape_of(const Member& member) {
  return {member.slots, member.single_band, member.band_list, member.part_list};
}

/// Requests that are known to fit or not, so that ten thousand equal ones cost one search. A request that does not fit
/// stays so while the trial only gets fuller. Cost: O(log shapes).
class KnownShapes {
 public:
  bool contains(const Member& member) const { return shapes_.contains(shape_of(member)); }
  void add(const Member& member) { shapes_.insert(shape_of(member)); }
  void clear() { shapes_.clear(); }

 private:
  std::set<RequestShape> shapes_;
};

/// One pass over one pool. Collects starts and preemptions, and carries them out on the trial.
class SlotPass {
 public:
  SlotPass(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts, Plan& plan);

  /// Places for the member, unless an equal one has failed already.
  std::vector<Place> find(std::uint32_t member);
  void start(std::uint32_t member, std::vector<Place> places, bool backfilled);
  /// Takes the places without starting: others have to leave first; `behind` is a workload of these.
  void reserve(std::uint32_t member, std::vector<Place> places, std::uint32_t behind = kNone);
  /// Orders the member to leave. Its places stay taken, unless the caller gives them back on trial.
  void preempt(std::uint32_t member, PreemptionReason reason, std::uint32_t beneficiary);
  bool is_preempted(std::uint32_t member) const { return preempted_[member]; }
  /// A place is only kept for it: its start is taken on the trial, and shown as a reservation without a place.
  bool keeps_place(std::uint32_t member) const {
    return snapshot_.workloads[snapshot_.members[member].workload].keeps_place;
  }

  /// Starts carried reservations with places that are free now, keeps places for the others. Spec:
  /// policy-determined 5.7 R3.
  void settle_carried();
  bool has_carried(std::uint32_t member) const { return has_carried_[member]; }
  /// Places of carried reservations that others are still leaving.
  const std::vector<Place>& awaited() const { return awaited_; }
  /// Gives up the carried reservations of members that are less important than this one; whether there were any.
  bool drop_carried_below(std::uint32_t member);

  /// Why the workload of a waiting member waits; the first reason stays.
  void explain(std::uint32_t member, Hold hold, std::int64_t need, std::int64_t have, std::uint32_t other = kNone);
  /// Slots that a workload holds, with the starts of this pass and without leaving members.
  std::int64_t held(std::uint32_t workload) const { return held_[workload]; }
  bool is_over_cap(std::uint32_t member) const;

  /// Members of the pool that wait, or hold places, with or without slots.
  const std::vector<std::uint32_t>& waiting() const { return waiting_; }
  const std::vector<std::uint32_t>& running() const { return running_; }

  const Snapshot& snapshot() const { return snapshot_; }
  std::uint32_t pool() const { return pool_; }
  const Parts& parts() const { return parts_; }
  SlotTrial& trial() { return trial_; }
  Plan& plan() { return plan_; }
  KnownShapes& failed() { return failed_; }

 private:
  const Snapshot& snapshot_;
  std::uint32_t pool_;
  const Parts& parts_;
  Plan& plan_;
  SlotTrial trial_;
  KnownShapes failed_;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> running_;
  std::vector<bool> preempted_;
  std::vector<bool> has_carried_;
  std::vector<bool> explained_;     ///< By workload.
  std::vector<std::int64_t> held_;  ///< By workload.
  std::vector<Place> awaited_;
  std::vector<std::vector<Place>> kept_;  ///< By carried reservation: the part that is free already and kept.
};

// The actions. Each takes the members in its own order, from the roomy to the full trial.
void start_by_share(SlotPass& pass, Sharing sharing);
void start_by_priority(SlotPass& pass);
void backfill(SlotPass& pass);

}  // namespace penstock::policy
