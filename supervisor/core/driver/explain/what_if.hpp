// The pass after the last one, with something otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "supervisor/core/policy_state.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

/// The most passes that are tried for one question. A pass that follows from a tried one counts too, and takes place
/// even where no more may be tried.
inline constexpr std::size_t kPassesTriedMax = 64;
/// The most members of all these passes together: the core answers nothing else meanwhile.
inline constexpr std::size_t kMembersTriedMax = 200'000;

/// Carries a plan out in the snapshot that it was made for, as the next pass would see it: starts run, victims leave
/// and wait anew, promised places are kept.
void carry_out(const policy::Plan& plan, policy::Snapshot& snapshot);

/// Takes workloads out of a snapshot; positions stay as they are.
void end_workloads(const std::vector<std::uint32_t>& ended, policy::Snapshot& snapshot);

/// Tells what the engine gives a job in one pool, on bands of one kind, in the pass after the last one, and in the same
/// pass with a changed snapshot. Pure: the same pass and the same questions give the same answers. Cost: of each
/// question, a pass over that pool; a snapshot is copied for each change.
class WhatIf {
 public:
  /// `domain`: of the pool and kind, see `domain_of`. Jobs that are `gone` since the last pass are left out.
  WhatIf(const LastPass& last, const std::vector<policy::Parts>& parts, std::uint32_t domain, JobId job, Instant now,
         const std::function<bool(JobId)>& gone);

  /// Whether the last pass has seen the job there.
  bool is_shown() const { return subject_ != policy::kNone; }
  std::uint32_t subject() const { return subject_; }
  /// By workload.
  const std::vector<PassUnderWay::Subject>& subjects() const { return subjects_; }
  /// The snapshot of the next pass if nothing changes.
  policy::Snapshot& next() { return next_; }
  /// Begins a new question: all passes may be tried again.
  void begin() { left_ = std::min(kPassesTriedMax, kMembersTriedMax / std::max<std::size_t>(next_.members.size(), 1)); }
  /// No more passes may be tried, though one was wanted.
  bool gave_up() const { return gave_up_; }
  /// None: no more may be tried.
  std::optional<policy::Plan> pass(const policy::Snapshot& changed);
  /// The slots that the job keeps, gets, and gets once others have left: of the snapshot, in thousandths.
  std::int64_t given(const policy::Snapshot& changed, const policy::Plan& plan) const;
  /// The same, or what the pass after it gives, when victims have left: the larger.
  std::int64_t given_at_last(policy::Snapshot changed, const policy::Plan& plan);
  /// Why the job waits.
  const policy::Explanation* why(const policy::Plan& plan) const;
  /// Whether the job then has more than without a change, at last.
  bool is_more(const policy::Snapshot& changed, const policy::Plan& plan);
  bool helps(const policy::Snapshot& changed);

 private:
  /// A pass that follows from one that was tried: it counts, and takes place though none may be tried any more.
  policy::Plan count_pass(const policy::Snapshot& changed);

  policy::PolicyEngine engine_;
  policy::Snapshot next_;
  std::vector<PassUnderWay::Subject> subjects_;
  std::uint32_t subject_ = policy::kNone;
  std::optional<std::int64_t> unchanged_;  ///< Given by the next pass without a change, once it is known.
  std::size_t left_ = 0;                   ///< Passes that may be tried.
  bool gave_up_ = false;
};

}  // namespace penstock::supervisor
