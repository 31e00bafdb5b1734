// Invariants of the whole cluster, whatever any part of it believes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/units.hpp"
#include "common/protocol/client.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::simulation {

/// The content of a datum. `id` stands for the bytes themselves: it follows from the program that made them and from
/// all that its run has read.
struct Content {
  Bytes bytes;
  std::uint64_t id = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

/// Sees every run and every word to a client, and knows the graphs. A breach is kept as text; the first one counts.
class Oracle {
 public:
  /// One host in one of its lives.
  using Life = std::uint64_t;

  void job_accepted(JobId job, std::shared_ptr<const Graph> graph, const JobIdentity& identity = {});
  /// Whether that very job was accepted, and not in another branch alone.
  /// Of a job that a run has submitted nobody need be told the end: it is forgotten if nobody follows it then.
  void nested_accepted(JobId job) { jobs_[job].nested = true; }
  bool knows(JobId job, const JobIdentity& identity) const;
  bool has_job(JobId job) const { return jobs_.contains(job); }
  JobIdentity identity_of(JobId job) const { return jobs_.at(job).identity; }
  /// The supervisor has forgotten the job.
  void job_forgotten(JobId job) { jobs_[job].forgotten = true; }
  /// `known`: the supervisor knows of a success of it, and wants it again.
  void run_started(Life life, SubtaskId subtask, Attempt attempt, bool known = true);
  void run_ended(Life life, SubtaskId subtask, bool succeeded);
  /// A run that succeeds has made this datum, which is not empty.
  void output_made(const DataKey& key, const Content& content);
  /// A run reads an input; null: it is told that the input is empty. Nothing but what the producer has made may be
  /// read, also by a run that turns out not to count.
  void input_read(SubtaskId reader, Attempt attempt, const DataKey& key, const Content* read);
  /// Its host hangs for long, its runs go on: it kills none of those that must not overlap.
  void stood_still(Life life) { lives_.stood_still.insert(life); }
  /// The supervisor has given this life up: whatever it still runs is fenced.
  void life_lost(Life life);
  /// Its process is gone. Its messages that are still on their way bring it no more back.
  void life_ended(Life life);
  /// A new life of the supervisor waits for what these claim.
  void supervisor_began(const std::vector<Life>& unclaimed);
  /// A supervisor has not taken over what this life claims: it is fenced, whether it runs already or starts yet.
  void claim_refused(Life life, SubtaskId subtask, Attempt attempt);
  /// A supervisor orders the end of an attempt that it does not count on. Where another's success counts instead, the
  /// attempt is fenced from now on, also while the order is on its way.
  void withdrawn(Life life, SubtaskId subtask, Attempt attempt);
  /// A supervisor goes on with this life; of its runs, those that `keeps` says no to are fenced.
  void life_returned(Life life, const std::function<bool(SubtaskId, Attempt)>& keeps);
  /// The worker has said so, or tries to: from now on it is known for as long as that life lasts.
  void success_reported(Life life, SubtaskId subtask, Attempt attempt);
  /// The client follows the job anew: the next it is told is everything so far, and nothing of before may be missing in
  /// it.
  void client_reattached(JobId job) {
    if (const auto known = jobs_.find(job); known != jobs_.end()) known->second.reattached = true;
  }
  /// The supervisor goes on from a state as it was `then`: what was accepted or told since is gone. Whatever those
  /// lives of workers hold is of another branch: nothing of it may be taken over.
  void put_back(const Oracle& then, const std::set<Life>& others);
  bool is_of_another_branch(Life life) const { return lives_.others.contains(life); }
  bool has_ended(JobId job) const;
  /// On the disk: so many failures of it are charged, the last one to this attempt.
  void failures_written(SubtaskId subtask, Attempt attempt, std::uint32_t charged);
  /// An operator has been answered that it is cancelled; `everywhere`: no worker was named that has not confirmed it.
  void cancel_answered(SubtaskId subtask, bool everywhere) {
    cancelled_.insert(subtask);
    if (everywhere) stopped_.insert(subtask);
  }
  /// The subtask is given to a worker to be run.
  void assigned(SubtaskId subtask, Attempt attempt);
  void client_told(const JobProgress& progress);
  void at_rest();

  void breach(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
  }
  const std::string& failure() const { return failure_; }
  std::uint64_t runs() const { return runs_; }
  bool all_jobs_ended() const;
  std::vector<JobId> not_ended() const;
  /// The nested ones among them.
  std::vector<JobId> nested_not_ended() const;
  std::uint64_t subtasks() const;
  const Graph* graph_of(JobId job) const;

 private:
  enum class Told : std::uint8_t { Nothing, Succeeded, Failed, Cancelled };
  struct JobView {
    std::shared_ptr<const Graph> graph;
    JobIdentity identity{};
    std::vector<bool> ran;  ///< A run of it has succeeded somewhere.
    std::vector<Told> told;
    std::uint64_t told_count = 0;
    bool reattached = false;
    bool nested = false;
    bool forgotten = false;
    bool ended = false;
    JobState state = JobState::Running;
  };
  void tell_all(JobView& view, const JobProgress& progress);
  void tell(JobView& view, JobId job, std::uint32_t subtask, Told what);

  std::map<JobId, JobView> jobs_;
  struct Run {
    Attempt attempt;
    bool fenced = false;
  };
  std::map<SubtaskId, std::map<Life, Run>> live_;
  std::map<SubtaskId, std::map<Life, Attempt>> succeeded_on_;
  std::set<std::tuple<Life, SubtaskId, Attempt>> fenced_;
  std::set<std::tuple<Life, SubtaskId, Attempt>> in_place_of_;  ///< Given out when that life, lost, had its success.
  std::set<std::pair<SubtaskId, Attempt>> begun_;  ///< On whatever worker, in whatever life of the supervisor.
  /// Lives of workers, by what has become of them.
  struct Lives {
    std::set<Life> lost;
    std::set<Life> unclaimed;  ///< Of before the present life of the supervisor, which has not heard what they hold.
    std::set<Life> ended;      ///< Their processes are gone: what of them is still on its way brings none of them back.
    std::set<Life> stood_still;
    std::set<Life> others;  ///< Of another branch.
  };
  Lives lives_;
  struct Charge {
    Attempt attempt;
    std::uint32_t charged = 0;
    std::uint32_t without_it = 0;  ///< The charges before that attempt.
  };
  std::map<SubtaskId, Charge> charges_;  ///< The records of them.
  std::set<SubtaskId> cancelled_;        ///< By operators that have been told so.
  std::map<DataKey, Content> made_;      ///< A datum that is not there is empty.
  std::set<SubtaskId> stopped_;          ///< Of those, what must not start on any worker that is not lost.
  std::uint64_t runs_ = 0;
  std::string failure_;
};

}  // namespace penstock::simulation
