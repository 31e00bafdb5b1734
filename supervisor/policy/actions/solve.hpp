// Finds the members to move or to send away so that one waiting job fits.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "supervisor/policy/quota_pass.hpp"

namespace penstock::policy {

/// Members taken from one job, which held a place or a promise.
struct TakenMembers {
  std::uint32_t workload = kNone;
  std::vector<std::uint32_t> members;
};

/// The rules of an action for the solver.
struct SolveRules {
  PreemptionReason reason = PreemptionReason::Priority;
  /// The projects that members may be taken from: one, or all but one.
  std::uint32_t only_project = kNone;
  std::uint32_t not_project = kNone;
  /// Whether one of them may, that holds something.
  std::function<bool(std::uint32_t workload)> is_candidate;
  /// Rules with this number and reason admit the same jobs, those of `not_project` aside.
  std::uint32_t candidates_name = 0;
  /// Whether the outcome on the trial is right; gets the taken members, in the order in which they were taken.
  std::function<bool(const std::vector<TakenMembers>& victims)> validate;
  std::uint32_t victims_max = kNone;
  /// Members of the waiting job beyond its next ones: the search places as many of them as it can, in this order.
  std::vector<std::uint32_t> more;
  /// Takes the piece that one job would lose next, and nothing else; the waiting job is placed before the loser.
  bool one_piece = false;
  /// Where the waiting job finds no place behind its victims it may find one before them.
  bool wanted_may_be_first = false;
  bool victims_move = true;   ///< Members that are taken may be placed again, and are not lost then.
  bool may_give_way = false;  ///< Victims that moved may be lost to jobs of their project that come before them.
  /// By project: members of it may lose their place for good, as the sums are before the search. Empty: all.
  std::vector<bool> may_lose;
  std::int64_t free_devices = 0;  ///< With `may_lose`: thousandths that are free in all.
};

/// Tries to place the next members of `workload`. True: the trial holds the outcome; false: it is as it was.
/// Greedy and deterministic, not minimal: takes victims in the order of the agenda until the job fits and the rules
/// hold. Spec: policy-runai 9.
bool solve(QuotaPass& pass, std::uint32_t workload, const SolveRules& rules);

/// The members that a victim job loses for good in the present state of the trial, as pieces: members above the minimum
/// one by one, then the rest as one.
std::vector<std::vector<std::uint32_t>> lost_pieces(const QuotaPass& pass, const TakenMembers& taken);

}  // namespace penstock::policy
