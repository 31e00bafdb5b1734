// The tasks of a reference case as jobs of users on a live cluster.
// tidy: foreign-file task, tasks, agent, agents
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/policy/command_policy_case.hpp"
#include "tools/policy/command_policy_positions.hpp"
#include "tools/policy/live/live_cluster.hpp"
#include "tools/policy/schedule_site.hpp"

namespace penstock::tools {

/// Agents are workers. Their places for tasks without slots, which are divided apart from slots, are slots of a device.
/// A task is a job of its own; where jobs of several tasks are asked about, or share, tasks of a group that are alike
/// are subtasks of one job. A task that no agent holds is a gang. The jobs of a group have its weight together, and an
/// account, which has its limit. Not thread-safe.
class ScheduleJobs {
 public:
  /// One task: some subtasks of a job.
  struct Task {
    std::string group;
    std::string job;  ///< The name of the job.
    JobId id;
    std::uint32_t first = 0;
    std::uint32_t count = 1;
    std::int64_t slots = 0;  ///< Of each.
    Decimal submitted;
  };

  /// The agents join, and tasks begin that run already when the case does. Wishes in vain are told to
  /// `checker`. Both must outlive this.
  ScheduleJobs(const cli::DocumentValue& file, CaseChecker& checker);

  /// Tasks of the file that wait take part from now on.
  void release();
  /// Further tasks, and their groups, are submitted in the order of their ages.
  void submit(const cli::DocumentValue& from);
  /// Operators move jobs into the order of `positions`, by group: a table, or `submission_time`.
  void move_to(const cli::DocumentValue& positions);
  /// Sets a field of a group as an operator does.
  void set_weight(const std::string& group, double weight);
  void set_priority(const std::string& group, std::int64_t priority);
  /// The owner takes the job of the task away.
  void cancel(const std::string& task);

  LiveCluster& cluster() { return cluster_; }
  const LiveCluster& cluster() const { return cluster_; }
  /// By name.
  const std::map<std::string, Task>& tasks() const { return tasks_; }
  std::vector<LiveRun> runs_of(const std::string& task) const;
  /// The group of a job by its name; empty: there is no such job.
  std::string group_of(const std::string& job) const;

 private:
  struct Draft;
  void begin();
  void lend_slots(const Draft& draft);
  /// Runs on the worker that has joined beside the agents begin again on slots that were lent.
  void leave_the_other_worker();
  void check_running(const std::vector<const cli::DocumentValue*>& running);
  void read_groups(const cli::DocumentValue& from);
  /// The jobs of these tasks, the oldest first.
  std::vector<Draft> drafts_of(const std::vector<cli::DocumentValue>& tasks);
  void check_task(const cli::DocumentValue& task);
  Draft submit(Draft draft);
  Draft draft_of(const cli::DocumentValue& task) const;
  std::vector<std::string> agents_allowed(const cli::DocumentValue& task) const;
  void move_jobs();
  std::int32_t priority_of(const std::string& group) const;
  /// Whether a group or a task of the file or of any step has that name for its job.
  bool is_told_of(const std::string& group) const;
  /// Divides the weight of each group among the jobs that it has now.
  void weigh_jobs();
  void order(const std::string& command, std::vector<std::string> arguments);

  const cli::DocumentValue& file_;
  CaseChecker& checker_;
  LiveCluster cluster_;
  std::map<std::string, std::int32_t> priorities_;  ///< Of groups.
  std::map<std::string, std::int64_t> weights_;     ///< Of groups that say one, in thousandths.
  std::map<JobId, std::int64_t> job_weights_;       ///< As jobs have them now, where it is not 1.
  std::map<std::string, Task> tasks_;
  std::map<std::string, Decimal> positions_;  ///< Of groups.
  std::vector<std::string> waiting_;          ///< Jobs that are held while the case begins.
  std::int64_t slots_most_ = 0;               ///< Of one agent.
  std::int64_t slots_all_ = 0;
  bool lends_ = false;        ///< Tasks begin on slots that others lend, and may run on any agent.
  bool counts_ages_ = false;  ///< Groups have the positions of their submission.
  bool joins_tasks_ = false;  ///< Tasks that are alike are subtasks of one job.
};

}  // namespace penstock::tools
