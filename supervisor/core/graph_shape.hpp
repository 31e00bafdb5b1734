// A checked graph in the compact form that scheduling needs. Constant once built.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/prefetch.hpp"
#include "common/base/result.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/external_input.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/graph_chunks.hpp"
#include "common/protocol/graph_hash.hpp"

namespace penstock::supervisor {

/// A subtask with an output of another job as its own.
struct ExternalInput {
  std::uint32_t subtask = 0;
  ExternalDatum datum;
};

/// Structure of a job's graph: edges in both directions, priorities, payloads. Nothing in it changes while a job
/// runs, so that the same graph submitted again can share it.
///
/// `rank` is the static order in which subtasks are best run: user priority, then critical path, then position. The
/// order is the identity for graphs that are already sorted so, and these store no permutation.
class GraphShape {
 public:
  std::uint32_t size() const { return static_cast<std::uint32_t>(graph_.size()); }
  std::uint64_t edge_count() const { return graph_.edge_count(); }
  /// Data that its subtasks make; one that makes none counts as one.
  std::uint64_t output_count() const { return outputs_; }
  const Graph& graph() const { return graph_; }
  /// Of the graph, by which it can be submitted again.
  const GraphHash& hash() const { return hash_; }
  /// Columns that say nothing are not read: with thousands of workers each costs a trip to memory for every report.
  std::uint32_t template_index(std::uint32_t subtask) const { return one_template_ ? 0 : graph_.template_of[subtask]; }
  const Template& template_of(std::uint32_t subtask) const { return graph_.templates[template_index(subtask)]; }

  std::span<const std::uint32_t> predecessors(std::uint32_t subtask) const {
    if (graph_.predecessors.empty()) return {};
    return {graph_.predecessors.data() + graph_.input_offsets[subtask],
            graph_.input_offsets[subtask + 1] - graph_.input_offsets[subtask]};
  }
  std::span<const std::uint32_t> successors(std::uint32_t subtask) const {
    if (successors_.empty()) return {};
    return {successors_.data() + successor_offsets_[subtask],
            successor_offsets_[subtask + 1] - successor_offsets_[subtask]};
  }
  /// Output that edge number `edge` (an index into the input columns) carries, or `EdgeKind::kOrderOnly`.
  std::uint16_t edge_output(std::uint32_t edge) const {
    return graph_.edge_outputs.empty() ? std::uint16_t{0} : graph_.edge_outputs[edge];
  }
  /// Whether an output of each subtask is read by another one; of a graph in which all edges carry data, nothing:
  /// there each subtask with successors is read.
  std::vector<bool> read_subtasks() const;
  std::uint32_t first_edge(std::uint32_t subtask) const { return graph_.input_offsets[subtask]; }
  /// Prefetches the way to the edges of the subtask.
  void prefetch(std::uint32_t subtask) const {
    if (!one_template_) prefetch_line(&graph_.template_of[subtask]);
    if (successors_.empty()) return;
    prefetch_line(&graph_.input_offsets[subtask]);
    prefetch_line(&successor_offsets_[subtask]);
  }
  /// Prefetches the edges; reads the lines of `prefetch`. REQUIRES: has_edges().
  void prefetch_edges(std::uint32_t subtask) const {
    prefetch_line(graph_.predecessors.data() + graph_.input_offsets[subtask]);
    prefetch_line(successors_.data() + successor_offsets_[subtask]);
  }
  bool has_edges() const { return !successors_.empty(); }

  std::uint32_t rank_of(std::uint32_t subtask) const { return rank_of_.empty() ? subtask : rank_of_[subtask]; }
  std::uint32_t at_rank(std::uint32_t rank) const { return at_rank_.empty() ? rank : at_rank_[rank]; }
  /// The user's part of the priority: the template's and the subtask's own.
  std::int32_t user_priority(std::uint32_t subtask) const;
  std::string_view payload(std::uint32_t subtask) const;
  /// The subtask's key, or its number as text if the graph has no names.
  std::string name(std::uint32_t subtask) const;
  /// None if the graph has no subtask of that name.
  SubtaskIndex find(std::string_view name) const;
  /// The same, or else the subtask of that number: people name subtasks by both. A key that is a number is a key.
  SubtaskIndex find_key_or_number(std::string_view text) const;
  /// Subtasks with an external input, ascending.
  std::span<const ExternalInput> external_inputs() const { return external_inputs_; }
  /// The external input of the subtask; null: none.
  const ExternalInput* external_input_of(std::uint32_t subtask) const {
    return external_inputs_.empty() ? nullptr : find_loan(subtask);
  }
  /// Expected duration by the graph itself; 0: unknown.
  Duration expected_duration(std::uint32_t subtask) const;
  /// Sum of expected durations on the longest path, and over all subtasks; in nanoseconds.
  std::uint64_t critical_path_ns() const { return critical_path_ns_; }
  std::uint64_t total_ns() const { return total_ns_; }
  /// Bytes of memory that it takes, payloads and names apart.
  std::uint64_t memory_bytes() const;
  /// Payloads are empty from now on. REQUIRES: all jobs of the graph have ended, and no other one comes.
  void forget_payloads();

 private:
  friend class GraphIntake;
  std::string_view key(std::uint32_t subtask) const;
  SubtaskIndex numbered(std::string_view text) const;
  const ExternalInput* find_loan(std::uint32_t subtask) const;

  Graph graph_;
  GraphHash hash_;
  bool one_template_ = false;
  std::vector<std::uint32_t> successor_offsets_;
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> rank_of_;
  std::vector<std::uint32_t> at_rank_;
  std::vector<ExternalInput> external_inputs_;
  mutable std::vector<std::uint32_t> by_name_;  ///< Sorted at the first search for a name. Scratch.
  std::uint64_t critical_path_ns_ = 0;
  std::uint64_t total_ns_ = 0;
  std::uint64_t outputs_ = 0;
};

/// Error: LimitExceeded, which names the limit.
Result<void> check_totals(const GraphTotals& totals, const GraphLimits& limits);

/// The size of a graph's chunks so far.
class GraphSize {
 public:
  /// Error: LimitExceeded, which names the limit.
  Result<void> add(const Graph& chunk, const GraphLimits& limits);
  const GraphTotals& sum() const { return sum_; }

 private:
  GraphTotals sum_;
};

/// Collects the chunks of one graph and checks it whole (spec: nothing is half accepted).
///
/// Each chunk is checked against the limits as it comes, so that a graph that is too large is refused before it is
/// held. Cost: linear in subtasks and edges, without recursion. Single-threaded; may run beside the core on another
/// thread.
class GraphIntake {
 public:
  explicit GraphIntake(const GraphLimits& limits);

  /// Takes a chunk. After an error the intake is of no further use.
  Result<void> add(Graph chunk);
  /// Checks the whole and builds the compact form. Leaves the intake empty.
  Result<std::unique_ptr<GraphShape>> finish();

 private:
  Result<void> check_chunk(const Graph& chunk);
  void join_chunks();
  static void append(const Graph& chunk, Graph& to);
  Result<void> check_templates() const;
  Result<void> check_subtasks() const;
  std::uint64_t count_outputs() const;
  Result<void> check_names() const;
  bool edges_are_plain() const;
  Result<void> check_edges();
  Result<std::vector<ExternalInput>> read_external_inputs() const;
  Result<void> check_acyclic(const GraphShape& shape, std::vector<std::uint32_t>& topological) const;
  Error describe_cycle(const GraphShape& shape, const std::vector<std::uint32_t>& unfinished) const;

  const GraphLimits limits_;
  GraphSize size_;
  /// As they came: columns that grow with each are copied, and written anew, again and again.
  std::vector<Graph> chunks_;
  Graph graph_;                ///< All of them; made by `finish`.
  bool sorted_ = true;  ///< Every edge points backwards: no cycle is possible.
};

/// Refuses names with control characters, NUL, `..` as a path component, or more than `bytes_max` bytes.
Result<void> check_name(std::string_view name, std::string_view what, std::uint32_t bytes_max);

}  // namespace penstock::supervisor
