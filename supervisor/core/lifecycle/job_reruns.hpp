// Ended jobs that run again.
#pragma once

#include <string>

#include "common/protocol/config.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/lifecycle/rerun_graph.hpp"

namespace penstock::supervisor {

struct EventContext;
struct Fleet;
class JobAcceptance;
struct JobTables;
struct Ledger;

/// Runs an ended job again: the new run is a job of the same name, of which the ended one is an earlier run. The new
/// one runs the whole graph, or the part that failed or depends on a subtask; then outputs that are still kept are
/// borrowed from the ended run (`rerun_graph`). The graph must still be known. Cost: linear in the graph.
class JobReruns {
 public:
  JobReruns(const SupervisorConfig& config, const EventContext& event, const Ledger& ledger, const Fleet& fleet,
            JobTables& tables, JobAcceptance& acceptance)
      : config_(config), event_(event), ledger_(ledger), fleet_(fleet), tables_(tables), acceptance_(acceptance) {}
  JobReruns(const JobReruns&) = delete;
  JobReruns& operator=(const JobReruns&) = delete;

  /// `rerun JOB [--failed] [--from=KEY] [--submission=NUMBER]`. An order that is given again with the number of the one
  /// that has made the newest run names that run. `identity`: of the new job. Errors: NotFound, WrongState (the job
  /// runs, nothing of it has failed, or it belongs to a run), UnknownGraph, and those of a submission.
  Result<Value> rerun_by_request(const AdminRequest& request, const JobIdentity& identity);

 private:
  /// The size of the parts of a run.
  struct Parts {
    std::uint64_t again = 0;
    std::uint64_t taken = 0;
    std::uint64_t left_out = 0;
  };
  Result<void> check(const Job& last) const;
  Result<SharedGraph*> graph_of(const Job& last, const AdminRequest& request, JobSpec& spec, Parts& parts);
  EndedRun look_at(const Job& last, const GraphShape& shape) const;
  /// The part of the graph that is to run. None is known, or that of the last run alone: UnknownGraph, or a part of
  /// that.
  Result<RerunGraph> part_of(const Job& last, const SharedGraph* whole, const std::string& from);
  Result<SharedGraph*> add_part(RerunGraph part);

  const SupervisorConfig& config_;
  const EventContext& event_;
  const Ledger& ledger_;
  const Fleet& fleet_;
  JobTables& tables_;
  JobAcceptance& acceptance_;
};

}  // namespace penstock::supervisor
