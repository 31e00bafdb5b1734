// The checked graphs that jobs run, and those that can be submitted again.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/lookup_map.hpp"
#include "common/protocol/graph_hash.hpp"
#include "supervisor/core/graph_shape.hpp"
#include "supervisor/core/index_set.hpp"

namespace penstock::supervisor {

/// The bands that may run the subtasks of one template, now. Kept up to date change by change.
struct EligibleBands {
  std::uint64_t epoch = 0;  ///< Of the worker table when this was true; 0: never.
  IndexSet bands;           ///< Band slots that may.
  IndexSet misfits;         ///< Bands of the template's kind that may not run it.
  bool everywhere = false;  ///< Every living band of its kind may.
};

/// The durations of a template's runs, over all jobs of the graph that have ended.
struct LearnedDuration {
  std::uint64_t runs = 0;
  std::uint64_t mean_ns = 0;
};

/// A checked graph with everything that its jobs share. State of one run is in `Job`.
struct SharedGraph {
  std::unique_ptr<GraphShape> shape;
  std::vector<EligibleBands> eligible;   ///< By template.
  std::vector<LearnedDuration> learned;  ///< By template.
  std::uint64_t bytes = 0;               ///< Everything counted: payloads and names, too.
  std::uint64_t price_of_job = 0;        ///< The most bytes that each of its jobs takes beside it.
  std::uint32_t jobs = 0;                ///< Jobs that run it, keep outputs of it, or are being written with it.
  std::size_t place = 0;                 ///< Among the table's.
  JobId written_as;                      ///< The journal has it under this job's number; none: it has it not.
};

/// Owns the graphs. A graph stays while a job uses it, and for a while longer so that it can be submitted again: the
/// last `graphs_max` of those that no job uses, as long as they take no more than `bytes_max`. Single-threaded; the
/// address of a `SharedGraph` never changes.
class GraphTable {
 public:
  GraphTable(std::uint32_t graphs_max, std::uint64_t bytes_max) : graphs_max_(graphs_max), bytes_max_(bytes_max) {}

  /// Takes in a graph for a first job. From now on its content finds this one, and no earlier one of the same content:
  /// two graphs that were sent whole are never taken for one on the word of a hash.
  SharedGraph& add(std::unique_ptr<GraphShape> shape);
  /// The graph for one job more; null if it is not known.
  SharedGraph* join(const GraphHash& hash);
  /// The same for one that is at hand.
  void join(SharedGraph& graph);
  /// A job has ended, which keeps outputs. If no other job has its graph and payloads are most of it, as where large
  /// objects are brought to the cluster, they go: the graph is not found again.
  void let_payloads_go(SharedGraph& graph);
  /// A job needs its graph no longer.
  void leave(SharedGraph& graph);

  /// Bytes of all graphs, payloads and names included, and the most that their jobs take.
  std::uint64_t held_bytes() const { return held_bytes_; }
  /// Bytes of all graphs, payloads apart.
  std::uint64_t memory_bytes() const;
  /// Graphs that no job uses.
  std::size_t idle_count() const { return idle_.size(); }
  /// Graphs for the journal to forget: gone since the last call, by the job that they were written for.
  std::vector<JobId> take_forgotten() { return std::exchange(forgotten_, {}); }

 private:
  bool is_found(const SharedGraph& graph) const;
  void drop(const SharedGraph& graph);

  const std::uint32_t graphs_max_;
  const std::uint64_t bytes_max_;
  std::vector<std::unique_ptr<SharedGraph>> graphs_;
  LookupMap<GraphHash, SharedGraph*> by_hash_;
  std::vector<SharedGraph*> idle_;  ///< Unused for longest first.
  std::uint64_t idle_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  std::vector<JobId> forgotten_;
};

}  // namespace penstock::supervisor
