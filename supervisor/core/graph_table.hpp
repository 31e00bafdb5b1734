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

/// Which bands may run the subtasks of one template, now. Kept up to date change by change.
struct EligibleBands {
  std::uint64_t epoch = 0;  ///< Of the worker table when this was true; 0: never.
  IndexSet bands;           ///< Band slots that may.
  IndexSet misfits;         ///< Those of the template's kind that may not.
  bool everywhere = false;  ///< Every living band of its kind may.
};

/// What the runs of a template have taken, over all jobs of the graph that have ended.
struct LearnedDuration {
  std::uint64_t runs = 0;
  std::uint64_t mean_ns = 0;
};

/// A checked graph with everything that its jobs share. What depends on one run is in `Job`.
struct SharedGraph {
  std::unique_ptr<const GraphShape> shape;
  std::vector<EligibleBands> eligible;   ///< By template.
  std::vector<LearnedDuration> learned;  ///< By template.
  std::uint64_t bytes = 0;               ///< Everything counted: payloads and names, too.
  std::uint64_t price_of_job = 0;        ///< What each of its jobs takes at most beside it.
  std::uint32_t jobs = 0;                ///< That run it, keep outputs of it, or are being written down with it.
  JobId written_as;                      ///< The journal has it under this job's number; none: it has it not.
};

/// Owns the graphs. A graph lives as long as a job uses it, and for a while longer so that it can be submitted again:
/// the last `graphs_max` of those that no job uses, as long as they take no more than `bytes_max`. Single-threaded; the
/// address of a `SharedGraph` does not change while it lives.
class GraphTable {
 public:
  GraphTable(std::uint32_t graphs_max, std::uint64_t bytes_max) : graphs_max_(graphs_max), bytes_max_(bytes_max) {}

  /// Takes in a graph for a first job. It is found by its content from now on, and no earlier one of the same content:
  /// two that came whole are never taken for one on the word of a hash.
  SharedGraph& add(std::unique_ptr<const GraphShape> shape);
  /// The graph for one job more; null if it is not known.
  SharedGraph* join(const GraphHash& hash);
  /// The same for one that is at hand.
  void join(SharedGraph& graph);
  /// A job needs its graph no longer.
  void leave(SharedGraph& graph);

  /// Bytes of all graphs, payloads and names included, and of those who use them at most.
  std::uint64_t held_bytes() const { return held_bytes_; }
  /// Bytes of all graphs, payloads apart.
  std::uint64_t memory_bytes() const;
  /// Graphs that no job uses.
  std::size_t idle_count() const { return idle_.size(); }
  /// What the journal needs no longer: graphs that are gone since the last call, as they were written.
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
