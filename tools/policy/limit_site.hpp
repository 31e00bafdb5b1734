// The site of a limits case as a configuration of the policy: its associations, queues, grants and machine.
// tidy: foreign-file bank, nodes
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/graph.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/policy_config.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// A job as a step of a case describes it.
struct CaseJob {
  std::string account;
  std::string user;
  std::string queue;
  std::string project;
  std::string qos;
  std::int64_t nodes = 1;
  std::int64_t cores = 0;
  std::int64_t wall_s = 0;
};

/// Translates a case into the terms of the cluster: an association (a user in an account) is a leaf of the account
/// tree, a node is a slot of a CPU band, a core is a slot of a device band.
class LimitSite {
 public:
  LimitSite(const cli::DocumentValue& file, const cli::DocumentValue& subject);

  PolicyConfig config() const;
  /// One worker with all nodes and cores of the machine.
  Register machine() const;
  JobSpec spec_of(const CaseJob& job, const std::string& name) const;
  /// One subtask with the slots of all its nodes, and one with those of all its cores, if it has any.
  Graph graph_of(const CaseJob& job) const;
  /// The account that stands for an association of the case.
  static std::string leaf(const std::string& account, const std::string& user);
  /// Changes the limits that the step names. Error: NotFound, InvalidArgument.
  Result<void> set_limits(const cli::DocumentValue& step);
  /// The job of a step: an earlier one with the fields that the step has.
  static CaseJob job_of(const cli::DocumentValue& step, CaseJob job = {});

 private:
  struct Association {
    std::string table;  ///< Entry of `assocs` with these limits; empty: `assoc`.
    JobLimits limits{};
  };
  std::optional<std::string> table_of(const std::string& account, const std::string& user) const;
  void add_association(const std::string& account, const std::string& user);
  const cli::DocumentValue& rights_of(const Association& association) const;
  std::int64_t nodes_of_machine() const;
  std::int64_t cores_of_machine() const;
  Duration time_limit_of(const CaseJob& job) const;
  void add_queues(PolicyConfig& config) const;
  void add_projects(PolicyConfig& config) const;
  Result<void> set_queue_limits(const cli::DocumentValue& step, const std::string& queue);

  const cli::DocumentValue& case_;
  const bool deny_unknown_;
  JobLimits base_;
  JobLimits queue_base_;  ///< Of jobs in no queue, or in any where the case has none.
  std::map<std::string, JobLimits> tables_;
  std::map<std::string, JobLimits> queues_;
  std::set<std::string> queues_named_;  ///< Also by steps.
  std::set<std::string> projects_named_;
  std::map<std::pair<std::string, std::string>, Association> associations_;  ///< By account and user.
};

}  // namespace penstock::tools
