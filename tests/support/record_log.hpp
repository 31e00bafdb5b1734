// A disk for the supervisor's records, without bytes: what a journal keeps, as the core would find it again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "supervisor/core/records.hpp"

namespace penstock::supervisor {

/// Applies records in order and says what a new life begins with. The work of the journal, in memory and without the
/// codec.
class RecordLog {
 public:
  /// Copies the graph of an accepted job, so it need not live on.
  void write(const Record& record);
  RecoveredState state() const;

 private:
  struct Entry {
    JobSpec spec;
    std::int64_t submitted_ms = 0;
    JobId graph_of;
    record::SubtasksEnded ended;
    std::optional<record::JobChanged> changed;
    std::uint8_t scale = 0;
    JobIdentity identity;
    std::map<SubtaskIndex, record::SubtaskChanged> subtasks;
    std::optional<record::JobEnded> over;
    std::vector<SubtaskRange> released;
  };
  void apply(const record::JobAccepted& accepted);
  void apply(const record::SubtasksEnded& ended);
  void apply(const record::JobChanged& changed);
  void apply(const record::SubtaskChanged& changed);
  void apply(const record::JobEnded& over);
  void apply(const record::OutputsReleased& released);
  void apply(const record::JobForgotten& forgotten);
  void apply(const record::WorkerJoined& joined);
  void apply(const record::WorkerGone& gone);
  void apply(const record::WriterLost& lost);
  void apply(const record::WriterForgotten& forgotten);
  void apply(const record::Ordered& order);
  void apply(const record::OrderForgotten& forgotten);
  void apply(const record::GraphForgotten& forgotten);
  void apply(const record::PolicyKept& kept) { policy_ = kept; }
  void apply(const record::SharedKept& part) { shared_[{part.kind, part.name, part.owner, part.number}] = part; }
  void apply(const record::SharedForgotten& part) { shared_.erase({part.kind, part.name, part.owner, part.number}); }

  std::map<JobId, Entry> jobs_;
  std::map<JobId, Graph> graphs_;  ///< By the job that brought it.
  JobId next_job_{1};
  std::map<WorkerId, record::WorkerJoined> workers_;
  WorkerId next_worker_{1};
  std::map<std::uint64_t, record::Ordered> orders_;
  std::set<Incarnation> lost_writers_;
  std::optional<record::PolicyKept> policy_;
  std::map<std::tuple<SharedKind, std::string, std::string, std::uint64_t>, record::SharedKept> shared_;
};

}  // namespace penstock::supervisor
