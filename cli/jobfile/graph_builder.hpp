// Builds a `Graph` subtask by subtask, and computes its order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock::cli {

/// Fills the columns of a graph. Subtasks are added first to last; `end_inputs` closes the edges of each, in the same
/// order, at once or when all subtasks are known. Optional columns without content are left out in the end.
class GraphBuilder {
 public:
  struct Subtask {
    std::uint32_t template_index = 0;
    std::string_view name;  ///< Empty for all, or for none.
    std::string_view payload;
    std::int32_t priority = 0;  ///< Added to the template's.
    Duration expected{0};       ///< 0: the template's.
  };

  /// The number of an existing equal template, or of this one.
  std::uint32_t add_template(Template content);
  std::uint32_t add_subtask(const Subtask& subtask);
  void data_edge(std::uint32_t predecessor, std::uint16_t output = 0);
  void order_edge(std::uint32_t predecessor);
  void end_inputs();
  /// True if the subtask with open inputs has an edge from `predecessor`.
  bool has_edge_from(std::uint32_t predecessor);

  std::uint32_t size() const { return static_cast<std::uint32_t>(graph_.size()); }
  std::uint32_t template_count() const { return static_cast<std::uint32_t>(graph_.templates.size()); }
  std::uint64_t edge_count() const { return graph_.edge_count(); }
  std::uint64_t name_bytes() const { return graph_.names.size(); }
  std::uint64_t payload_bytes() const { return graph_.payloads.size(); }
  std::string name_of(std::uint32_t subtask) const;
  void want(std::uint32_t subtask) { graph_.wanted.push_back(subtask); }

  /// REQUIRES: the inputs of every subtask were closed.
  Graph take();

 private:
  Graph graph_;
  std::unordered_map<std::string, std::uint32_t> template_numbers_;
  // For `has_edge_from`: the last subtask with a known edge from each predecessor.
  std::vector<std::uint32_t> reader_of_;
};

/// Name of a subtask, or its number as text.
std::string name_of(const Graph& graph, std::uint32_t subtask);

struct GraphSequence {
  std::vector<std::uint32_t> order;  ///< Predecessors before successors; complete only if there is no cycle.
  std::vector<std::uint32_t> cycle;  ///< The subtasks of one cycle along its edges, if there is one.
};
/// Linear, without recursion. REQUIRES: every predecessor is in the graph.
GraphSequence sequence_of(const Graph& graph);

/// `a -> b -> a`; a long cycle is shortened.
std::string show_cycle(const Graph& graph, const std::vector<std::uint32_t>& cycle);

/// Successors by subtask, in compact form: those of `i` are `list[offsets[i]]` to `list[offsets[i + 1]]`.
struct SuccessorLists {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> list;
};
SuccessorLists successors_of(const Graph& graph);

}  // namespace penstock::cli
