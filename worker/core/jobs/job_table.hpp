// The jobs that a worker knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/lookup_map.hpp"
#include "common/protocol/graph.hpp"
#include "worker/core/data/data_table.hpp"
#include "worker/core/jobs/peak_table.hpp"
#include "worker/core/jobs/shape_table.hpp"
#include "worker/core/jobs/subtask_set.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// A template as the worker uses it.
struct WorkerTemplate {
  Template content;
  /// The resources of its band that an attempt holds in the execution queue: the request without memory, which the
  /// quota meters.
  ResourceVector execution;
  /// A lane may run templates with the same number in turn: native, without a time limit, with the same request, of any
  /// job. Number 0 must not be offered to lanes. See `ShapeTable`.
  std::uint16_t shape = 0;
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  std::uint32_t typical_ns = kUnknown;  ///< Mean of its latest runs, in nanoseconds.
  std::uint64_t runner_kind = 0;        ///< Of `runner_kind_of`.
  std::uint64_t peak_program = 0;       ///< Its name in `PeakTable`; 0: it requests no memory.
};

/// One job on this worker: the objects that its messages name by number.
struct JobContext {
  JobId id;
  JobIdentity identity;
  std::string name;
  std::string owner;            ///< The user; empty: not said.
  std::vector<Secret> secrets;  ///< Variables of its programs.
  std::int32_t priority = 0;
  bool trace = false;
  bool forgotten = false;  ///< Closed with its last record.
  bool gang = false;       ///< The job was at a barrier: it starts nothing on a band before its supervisor opens it.
  bool has_never_overlapping = false;  ///< Templates with `overlap = "never"` exist.
  std::size_t live = 0;                ///< Records.
  RecordIndex records;                 ///< Head of their list.
  DatumIndex data;                     ///< Head of its data's list.
  std::vector<std::unique_ptr<WorkerTemplate>> templates;
  std::vector<std::unique_ptr<WorkerTemplate>> replaced_templates;  ///< Earlier subtasks still run by these.
  struct Cell {
    RecordIndex record;
  };
  SparseCells<Cell> attempts;  ///< The live record of each subtask.
  /// Producers that have finished, by their own end here or by a notice, after which all their outputs with bytes are
  /// in the data table: a missing output of theirs is empty. For any other producer absence means nothing.
  SubtaskSet settled;
};

/// Finds jobs by id; slots are dense and reused. Passive.
class JobTable {
 public:
  /// None if unknown.
  JobSlot find(JobId id) const;
  /// None for a job that is unknown here, or without an identity from the supervisor.
  JobIdentity identity_of(JobId id) const {
    const JobSlot slot = find(id);
    return slot.valid() ? (*this)[slot].identity : JobIdentity{};
  }
  /// The job, opened if unknown.
  JobSlot open(JobId id);
  void close(JobSlot slot);

  JobContext& operator[](JobSlot slot) { return *jobs_[slot.value()]; }
  const JobContext& operator[](JobSlot slot) const { return *jobs_[slot.value()]; }
  std::size_t size() const { return index_.size(); }
  /// Slots that were ever used; those of closed jobs are null.
  std::size_t slots() const { return jobs_.size(); }
  bool is_open(JobSlot slot) const { return slot.value() < jobs_.size() && jobs_[slot.value()] != nullptr; }

 private:
  LookupMap<JobId, JobSlot> index_;
  std::vector<std::unique_ptr<JobContext>> jobs_;
  std::vector<JobSlot> free_;
};

}  // namespace penstock::worker
