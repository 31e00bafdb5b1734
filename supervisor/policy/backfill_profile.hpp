// The number of free slots over time, as far as time limits tell.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::policy {

/// Slots that are held now and come back then; `kNever`: the time is unknown.
struct SlotsReturn {
  Instant at;
  std::int64_t slots = 0;
};

/// A step function from now on. Cost: O(n log n) to make it of n returns, O(steps) for a search or an occupation.
class AvailabilityProfile {
 public:
  /// Slots that should have come back by now do so after `overrun`, > 0. Spec: policy-flux 9, "resolution".
  AvailabilityProfile(Instant now, std::int64_t free_now, std::vector<SlotsReturn> returns = {},
                      Duration overrun = Parts{}.overrun);

  void occupy(Instant from, Duration length, std::int64_t slots);
  /// Whether `slots` are free for `length` from now on. Cost: O(1) where they are not free now.
  bool is_free_now(std::int64_t slots, Duration length) const {
    return first_shortage(0, steps_.front().from, slots, length) == steps_.size();
  }
  std::int64_t free_now() const { return steps_.front().free; }
  /// When `slots` are first free for `length`, then or later; `kNever` if they never are.
  Instant earliest(std::int64_t slots, Duration length, Instant not_before = Instant::min()) const;

 private:
  struct Step {
    Instant from;
    std::int64_t free = 0;
  };
  std::size_t step_at(Instant when);
  std::size_t first_shortage(std::size_t step, Instant begin, std::int64_t slots, Duration length) const;

  std::vector<Step> steps_;  ///< By time; each lasts until the next, the last for ever.
};

/// One job that waits, in the order of its importance.
struct BackfillRequest {
  std::int64_t slots = 0;
  Duration limit = Duration::max();
  bool anywhere = true;  ///< Any free slots would do; else it waits for those of one band.
};

enum class BackfillVerdict : std::uint8_t {
  Starts,
  Reserved,  ///< A later job may not delay its reserved start.
  Waits,
};

struct BackfillOutcome {
  BackfillVerdict verdict = BackfillVerdict::Waits;
  Instant at = kNever;
};

/// First come first served, with later jobs filling gaps. The first `depth` jobs that are blocked get reserved starts:
/// 0 stops at the first blocked job, 1 is EASY, all of them is conservative. `can_start` is asked about the place of a
/// job that time lets start. A job that finds enough slots free, but not together, has them kept, because the time when
/// they are together is unknown. No other job starts behind one if no time limit tells when that one starts. A job that
/// needs slots of one band waits for those: `keep` reserves for it. A job that needs no slots neither waits for any nor
/// keeps others waiting.
/// Spec: policy-flux 9.
class Backfill {
 public:
  Backfill(AvailabilityProfile profile, Instant now, std::uint32_t depth)
      : profile_(std::move(profile)), now_(now), depth_(depth) {}

  template <class CanStart>
  BackfillOutcome next(const BackfillRequest& request, const CanStart& can_start) {
    if (request.slots == 0) return can_start() ? BackfillOutcome{BackfillVerdict::Starts, now_} : BackfillOutcome{};
    if (stopped_) return {};
    const bool is_free = profile_.is_free_now(request.slots, request.limit);
    if (is_free && can_start()) {
      profile_.occupy(now_, request.limit, request.slots);
      return {BackfillVerdict::Starts, now_};
    }
    if (depth_ == 0) stopped_ = true;
    if (reserved_ >= depth_ || !request.anywhere) return {};
    const Instant at = is_free ? now_ : profile_.earliest(request.slots, request.limit);
    ++reserved_;
    stopped_ = stopped_ || at == kNever;
    if (at != kNever) profile_.occupy(at, request.limit, request.slots);
    return {BackfillVerdict::Reserved, at};
  }

  /// Whether one more that is blocked gets a reserved start.
  bool reserves() const { return !stopped_ && reserved_ < depth_; }
  /// The first time, not before `not_before`, when it could start without delaying a job that was examined before.
  Instant earliest(const BackfillRequest& request, Instant not_before) const {
    return profile_.earliest(request.slots, request.limit, not_before);
  }
  /// For a job that `next` has made wait because it needs slots of its own bands: it starts there at `at`. Where that
  /// is not known, `kept` slots that are free there stay free; the caller decides which jobs may use them until then.
  /// REQUIRES: `reserves()`.
  BackfillOutcome keep(const BackfillRequest& request, Instant at, std::int64_t kept) {
    ++reserved_;
    if (at == kNever)
      profile_.occupy(now_, Duration::max(), kept);
    else
      profile_.occupy(at, request.limit, request.slots);
    return {BackfillVerdict::Reserved, at};
  }

 private:
  AvailabilityProfile profile_;
  Instant now_;
  std::uint32_t depth_;
  std::uint32_t reserved_ = 0;
  bool stopped_ = false;
};

}  // namespace penstock::policy
