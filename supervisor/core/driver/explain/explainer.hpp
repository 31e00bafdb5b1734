// The part of `explain` about one job on bands of one kind: the rules that hold it, the remedies, and its estimated
// start. Private to this folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/driver/explain/what_if.hpp"
#include "supervisor/core/driver/policy_answers.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

/// So many jobs, and workers, are named as alternatives. Not a setting: more would not be read.
inline constexpr std::size_t kRemedyRowsMax = 3;
/// The largest weight that `set weight` takes, in thousandths: above the weights of other jobs.
inline constexpr std::int64_t kWeightMax = 1'000'000'000;
/// So many candidates for remedies are tried each for itself; the others only together.
inline constexpr std::size_t kTriedAloneMax = 16;

/// Whether jobs of the pool get slots by their fair shares.
inline bool shares_slots(const policy::Parts& parts) { return policy::has_action(parts, policy::Action::StartByShare); }

/// The key of a configuration that limits a project, or guarantees it something.
const char* project_key(BandKind kind, const policy::Explanation& why);

/// Reads all jobs and bands, as they are now: only when people ask. Changes nothing, and is outlived by both. A remedy
/// is a change under which the engine gives the job more in the next pass; the same engine says what else would hold
/// the job, and which ends let it start. Cost: of each question up to `kPassesTriedMax` passes over its pool.
class PolicyAnswers::Explainer {
 public:
  /// REQUIRES: the job has shares.
  Explainer(const PolicyAnswers& core, const Job& job, BandKind kind);

  /// The remedies for the first rule that holds the job; each row is enough by itself.
  Value::List freed_by();
  /// All rules that hold the job, first that of `held_by`. Empty: none does.
  Value::List holds();
  /// The start of a waiting job that holds nothing; else none.
  std::optional<Value::Record> start();

 private:
  struct Closed;
  struct Setting;
  using Workloads = std::vector<std::uint32_t>;

  // changes.cpp
  bool is_gang() const { return job_.spec.policy.gang > 0 && !share_.bound; }
  std::uint64_t step() const;
  std::int64_t step_beyond_first() const;  ///< Where quotas count, the engine finds no room for the first of a gang.
  std::uint64_t granularity() const { return core_.policy_.last->pass.domains[domain_].granularity; }
  const policy::Parts& parts() const { return core_.view_.parts_in(job_.shares->pool.position); }
  const Job& job_at(std::uint32_t workload) const;
  bool holds_any(std::uint32_t workload);
  std::uint32_t bands_for(std::uint32_t workload, policy::Snapshot& changed) const;
  void want(std::uint32_t workload, std::uint64_t milli, policy::Snapshot& changed) const;
  void weigh(std::int64_t own, policy::Snapshot& changed) const;
  void admit(const Workloads& ended, policy::Snapshot& changed) const;
  policy::Snapshot without(const Workloads& ended);
  policy::Snapshot with_step();
  policy::Snapshot with_projects(const PolicyConfig& config);
  policy::Snapshot with_workers(const std::vector<Closed>& all, std::size_t first, std::size_t count);

  // remedies.cpp
  Value::List remedies();
  Workloads holders();
  void add_ends(Workloads candidates, Value::List& rows);
  std::vector<Closed> closed_workers();
  void add_workers(Value::List& rows);
  void add_priority(Value::List& rows);
  void add_weight(Value::List& rows);
  void add_cap(Value::List& rows);
  void add_settings(Value::List& rows);
  void add_share_limits(Value::List& rows);
  void add_setting_rows(const std::vector<Setting>& settings, const PolicyConfig& config, Value::List& rows);
  void add_limit_rows(Value::List& rows);
  void add_other(const WaitsFor& waits, Value::List& rows);

  // policy_holds.cpp
  Value::Record first_hold(const std::string& text) const;
  void add_limits(Value::List& all) const;
  void add_own_cap(Value::List& all) const;
  bool add_share_limit(const policy::Plan& plan, policy::Snapshot& changed, Value::List& all) const;
  bool add_hold(const policy::Explanation& why, policy::Snapshot& changed, Value::List& all) const;
  void add_holds_of_policy(Value::List& all);

  // explain_start.cpp
  std::optional<Duration> ends_in(const Job& other, std::string& basis) const;
  Value::Record start_after_ends();

  const PolicyAnswers& core_;
  const Job& job_;
  const BandKind kind_;
  const std::uint32_t domain_;
  const KindShare& share_;
  std::optional<WhatIf> what_if_;  ///< None: the last pass has not seen the job.
};

/// A worker of the pool that takes no new work.
struct PolicyAnswers::Explainer::Closed {
  std::string name;
  std::string how;  ///< The order, or the event, that opens it.
  const Register& description;
  std::vector<std::uint32_t> bands;     ///< Positions in the snapshot,
  std::vector<BandDescription> absent;  ///< or the bands of a worker that is gone.
};

}  // namespace penstock::supervisor
