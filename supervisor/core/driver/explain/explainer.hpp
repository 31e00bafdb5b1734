// The part of `explain` about one job on bands of one kind: the rules that hold it, the remedies, and its estimated
// start. Private to this folder.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/driver/explain/room_view.hpp"
#include "supervisor/core/driver/explain/start_estimate.hpp"
#include "supervisor/core/driver/policy_answers.hpp"
#include "supervisor/core/share_view.hpp"

namespace penstock::supervisor {

/// So many jobs, and workers, are named as alternatives. Not a setting: more would not be read.
inline constexpr std::size_t kRemedyRowsMax = 3;
/// So many candidates for them are looked at each for itself: in a large cluster one of them takes milliseconds.
inline constexpr std::size_t kLookedAtMax = 16;

/// A row of `freed_by`.
inline Value::Record remedy_row(std::string what, std::string of, std::string how) {
  return {{"what", std::move(what)}, {"of", std::move(of)}, {"how", std::move(how)}};
}

/// A row of `freed_by`: the end of these jobs together frees it, `by` then at the latest.
Value::Record end_row(const std::vector<const Job*>& ended, Instant by, Instant now);

/// Reads all jobs and bands, as they are now: only when people ask. Changes nothing, and is outlived by both.
class PolicyAnswers::Explainer {
 public:
  /// REQUIRES: the job has shares.
  Explainer(const PolicyAnswers& core, const Job& job, BandKind kind);

  /// The remedies for the first rule that holds the job; each row is enough by itself.
  Value::List freed_by() const;
  /// All rules that hold the job, first that of `held_by`. Empty: none does.
  Value::List holds() const;
  /// The start of a waiting job that holds nothing; else none.
  std::optional<Value::Record> start() const;

 private:
  struct Bound;
  struct Candidate;
  using Ended = std::vector<const Job*>;

  // room_remedies.cpp
  bool is_gang() const { return job_.spec.policy.gang > 0 && !share_.bound; }
  std::uint64_t step() const;
  std::uint64_t need() const;
  RoomView room() const;
  RoomView empty_room() const;
  RoomView::Holder holder_of(const Job& other, const RoomView& room) const;
  std::vector<RoomView::Amounts> leaving_for(const RoomView& room, std::int64_t precedence) const;
  RoomView::Amounts may_come_back(const RoomView& room, std::int64_t precedence) const;
  void add_ends(const RoomView& room, Value::List& rows) const;
  std::vector<Candidate> absent_bands(const RoomView& room) const;
  /// Whether the job is freed in such a room, without holders; with the steps that have to follow.
  using Helps = std::function<std::optional<std::string>(const RoomView& more)>;
  void add_workers(const RoomView& room, const Helps& helps, Value::List& rows) const;
  void add_priority(const RoomView& room, Value::List& rows) const;
  bool gets_more_without_cap() const;
  void add_other(const WaitsFor& waits, Value::List& rows) const;

  // share_remedies.cpp
  std::optional<ShareView> shares() const;
  void add_share_rows(Value::List& rows) const;

  // quota_remedies.cpp
  /// Slots in thousandths, then memory in bytes.
  struct Sums {
    std::int64_t held[2] = {};
    std::int64_t fixed[2] = {};  ///< Of those that never leave.
  };
  std::vector<Sums> sums_with(const std::array<std::int64_t, 2>& next) const;
  std::vector<Bound> bounds_in(const PolicyConfig& config) const;
  std::vector<bool> reclaimable(const RoomView& room) const;
  void add_settings(const RoomView& room, const std::vector<Bound>& bounds, Value::List& rows) const;
  void add_ends_within(const RoomView& room, const std::vector<Bound>& bounds, Value::List& rows) const;
  void add_project_rows(Value::List& rows) const;

  // limit_remedies.cpp
  std::vector<const Job*> jobs_under(const std::string& whom) const;
  void add_admission_rows(Value::List& rows) const;
  void add_ends_under_limit(std::uint64_t most, Value::List& rows) const;
  Value::List remedies_of_limit() const;

  // policy_holds.cpp
  Value::Record first_hold(const std::string& text) const;
  void add_limits(Value::List& all) const;
  void add_cap(Value::List& all) const;
  void add_bounds(Value::List& all) const;
  void add_share(Value::List& all) const;
  void add_room(Value::List& all) const;

  // explain_start.cpp
  std::optional<Duration> ends_in(const Job& other, std::string& basis) const;
  std::vector<const Job*> waiting_before() const;
  Value::Record start_by_room() const;
  Value::Record start_by_share() const;

  const PolicyAnswers& core_;
  const Job& job_;
  const BandKind kind_;
  const KindShare& share_;
};

/// A limit or a guarantee of a project, or of a department above it, that one step more would pass.
struct PolicyAnswers::Explainer::Bound {
  std::uint32_t project = policy::kNone;              ///< Position in the configuration.
  policy::Resource resource = policy::Resource::Gpu;  ///< Slots, in thousandths, or memory, in bytes.
  bool guarantee = false;
  std::int64_t would_hold = 0;
  std::int64_t may_hold = 0;

  const char* key(BandKind kind) const {
    if (resource == policy::Resource::Memory) return guarantee ? "guaranteed_memory" : "memory_max";
    if (kind == BandKind::Gpu) return guarantee ? "guaranteed_gpu_slots" : "gpu_slots_max";
    return guarantee ? "guaranteed_slots" : "slots_max";
  }
};

}  // namespace penstock::supervisor
