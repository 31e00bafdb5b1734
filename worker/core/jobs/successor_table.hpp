// Cached successors on this worker and their missing inputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/id_vector.hpp"
#include "common/base/slab.hpp"
#include "common/protocol/cancel.hpp"
#include "worker/core/jobs/sparse_cells.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// Counts down the missing producers of cached successors (spec worker 6).
///
/// Invariant: a successor is announced complete exactly once, when the last of its producers has finished here or was
/// noticed to have finished elsewhere, in any order and with any repetition. A producer that finished here is
/// remembered until the supervisor has applied the report, because an assignment on its way may still call it missing.
/// Single-threaded. Cost: constant for each edge; removing a successor leaves its edges to be skipped later.
class SuccessorTable {
 public:
  void open_job(JobSlot job);
  /// Forgets everything of the job. REQUIRES: its successors were removed.
  void close_job(JobSlot job);

  /// Caches a successor. Returns how many of its producers (repetitions count) are missing; 0: it is not cached.
  std::uint32_t add(RecordIndex successor, JobSlot job, std::span<const SubtaskIndex> producers);
  /// Withdraws a cached successor. Idempotent.
  void remove(RecordIndex successor);

  /// The producer has finished on this worker; appends the successors that are now complete, in order of caching.
  void finished_here(JobSlot job, const AttemptRef& producer, std::vector<RecordIndex>& complete);
  /// The producer has finished elsewhere; the same.
  void noticed(JobSlot job, SubtaskIndex producer, std::vector<RecordIndex>& complete);
  /// The supervisor knows that the producer has finished; from now on no assignment calls it missing. No effect if a
  /// later attempt has finished here meanwhile, because the supervisor does not know that one yet.
  void applied(JobSlot job, const AttemptRef& producer);
  /// The end of the producer here no longer counts: new successors wait for another attempt.
  void forget(JobSlot job, SubtaskIndex producer);

  bool is_finished(JobSlot job, SubtaskIndex producer) const;
  /// Producers that this successor still waits for; 0 if it is not cached.
  std::uint32_t missing(RecordIndex successor) const;
  /// Appends the cached successors that wait for the producer.
  void waiting_for(JobSlot job, SubtaskIndex producer, std::vector<RecordIndex>& successors) const;

  // Prefetches the memory that the end of a producer will touch, in steps: each needs the result of the one before.
  // REQUIRES: the job is open.
  void prefetch_cell(JobSlot job, SubtaskIndex producer) const;
  void prefetch_edge(JobSlot job, SubtaskIndex producer) const;
  /// The first successor that waits for the producer, by an edge that may be dead; none if there is none.
  RecordIndex first_waiting(JobSlot job, SubtaskIndex producer) const;

  std::size_t cached() const { return cached_; }
  void validate() const;

 private:
  using EdgeIndex = Id<struct EdgeTag, std::uint32_t>;
  struct Edge {
    RecordIndex successor;
    std::uint32_t generation = 0;
    EdgeIndex next;
    void reset() { *this = Edge{}; }
  };
  struct Cell {
    EdgeIndex first;  ///< Of waiting successors, oldest first.
    EdgeIndex last;
    Attempt finished;  ///< The last attempt that finished and is not known to be applied; none: no such attempt.
  };
  struct Successor {
    std::uint32_t missing = 0;
    std::uint32_t generation = 0;  ///< Edges of an earlier generation are dead.
  };

  bool alive(const Edge& edge) const { return successors_[edge.successor].generation == edge.generation; }
  void complete_waiters(Cell& cell, std::vector<RecordIndex>& complete);
  void free_edges(Cell& cell);

  std::vector<SparseCells<Cell>> jobs_;
  IdVector<RecordIndex, Successor> successors_;
  Slab<EdgeIndex, Edge> edges_;
  std::size_t cached_ = 0;
};

}  // namespace penstock::worker
