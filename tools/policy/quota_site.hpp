// The site of a quota case in the terms of a cluster: its projects, workers and jobs.
// tidy: foreign-file nodes, pod
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/protocol/graph.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/policy_config.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {

/// The project of jobs that fill slots while a case is set up.
inline constexpr std::string_view kFiller = "filler";

/// Translates a case: a queue is a project, a node a worker, a pod a subtask. A device is a slot of the worker's CPU
/// band; where a case has parts of devices, each device is a band of its own. Refers to the case.
class QuotaSite {
 public:
  /// `file`: with the settings of all its cases; `subject`: the case.
  QuotaSite(const cli::DocumentValue& file, const cli::DocumentValue& subject);

  /// Whether the case can be told in these terms. Left out are requests without devices, groups within a job, gangs
  /// that have lost members, CPU or memory that is scarce, and settings that no configuration has. So are cases of one
  /// action that forbid a start that a pass makes, because it allocates first.
  bool is_expressible() const;

  bool has_parts() const { return has_parts_; }
  /// The policy of the case.
  PolicyConfig policy() const;
  /// A policy with which whatever has room starts and goes on, under `kFiller` as well.
  PolicyConfig open_policy() const;
  Register worker(const cli::DocumentValue& node) const;
  /// The slots of each member of a job.
  MilliSlots slots_of(const cli::DocumentValue& job) const;
  JobSpec spec_of(const cli::DocumentValue& job) const;
  Graph graph_of(const cli::DocumentValue& job) const;
  Graph graph_of(std::size_t subtasks, MilliSlots slots) const;

 private:
  const std::vector<cli::DocumentValue>& list(const char* name) const { return field_of(case_, name).items; }
  double devices_of(const cli::DocumentValue& job) const;
  std::int64_t device_mib() const;
  bool is_plain_job(const cli::DocumentValue& job) const;
  bool is_small() const;
  bool fit_one_device() const;
  bool are_names_known() const;
  bool has_room_beside_devices() const;
  bool forbids_a_start() const;
  double free_slots(const cli::DocumentValue& node) const;

  const cli::DocumentValue& runner_;
  const cli::DocumentValue& case_;
  bool has_parts_ = false;
};

/// The members of a job that run when the case begins.
std::size_t running_members(const cli::DocumentValue& job);

}  // namespace penstock::tools
