// A trace in the terms of a cluster: its hosts as workers, its jobs as submissions.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/graph.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/policy_config.hpp"
#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {

/// The worker of a host, or of a part of one: a band has 16 devices at most.
struct ReplayHost {
  std::uint32_t band = 0;  ///< In `ReplayTrace::bands`.
  Register worker;
};

/// Describes hosts as workers describe themselves: see `make_bands`. The devices of a host are one band. Where slots
/// are counted, bands of several devices give no parts of them, so if a host of the trace has several, all jobs have
/// whole devices. Refers to the trace and the policy. Pure.
class ReplaySite {
 public:
  /// REQUIRES: a policy of one pool, with valid parts.
  ReplaySite(const ReplayTrace& trace, const PolicyConfig& policy);

  std::vector<ReplayHost> hosts() const;
  /// Each job has a name of its own; its project is its user, and the account of that name, if there is one, is
  /// charged.
  JobSpec spec_of(std::size_t job) const;
  /// A subtask for each member.
  Graph graph_of(std::size_t job) const;
  /// The amounts that each member takes.
  ResourceVector request_of(const ReplayJob& job) const;
  /// Whether all hosts together have the slots of a gang.
  bool has_slots_for(const ReplayJob& job) const;

 private:
  std::int64_t slots_of(const ReplayJob& job) const;  ///< Thousandths, of each member.
  std::uint32_t gang_of(const ReplayJob& job) const;
  std::int32_t priority_of(const ReplayJob& job) const;

  const ReplayTrace& trace_;
  const PolicyConfig& policy_;
  bool whole_devices_ = false;
  std::vector<std::vector<std::uint32_t>> places_;  ///< Different `ReplayJob::bands`; the label of each is its number.
};

/// The policy of a pool alone, for a trace that says nothing about users, labels and pools: projects are open to all
/// jobs, on all hosts. REQUIRES: `pool` is a position.
PolicyConfig policy_of_pool(PolicyConfig config, std::size_t pool);

/// A policy with that pool. Each project of the trace is guaranteed an equal part of all slots, and has an account of
/// its own.
PolicyConfig policy_of_equals(const ReplayTrace& trace, PoolConfig pool);

}  // namespace penstock::policy
