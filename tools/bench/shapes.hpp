// Generated graphs of known shapes, for benchmarks and demonstrations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::tools {

/// The dependence patterns of `Task Bench` (Slaughter et al., SC 2020) and those of engines. "Row" is a step of `width`
/// subtasks that depend on the row before; the last row may be shorter.
enum class Shape : std::uint8_t {
  Flat,           ///< No dependencies.
  Chain,          ///< Each on the one before.
  Chains,         ///< `width` chains side by side.
  Stencil,        ///< Each on its column and both neighbours of the row before.
  Fft,            ///< Each on its column and on the one that a growing power of two apart: a butterfly.
  Tree,           ///< A binary reduction, leaves first.
  AllToAll,       ///< Each on the whole row before.
  RandomNearest,  ///< Each on about half of the five nearest columns of the row before.
  Trivial,        ///< Rows without dependencies.
};

struct ShapeOptions {
  Shape shape = Shape::Flat;
  std::uint32_t subtasks = 1000;
  std::uint32_t width = 0;          ///< 0: the square root of `subtasks`.
  Duration burn{0};                 ///< Each computes for so long; 0 with no output: the operator `noop`.
  std::uint32_t payload_bytes = 0;  ///< Of each subtask itself; 0: its template's.
  std::int64_t output_bytes = 0;
  std::uint64_t seed = 1;  ///< Of RandomNearest.
};

/// `flat`, `chain`, `chains`, `stencil`, `fft`, `tree`, `alltoall`, `random_nearest` (or `random`), `trivial`.
/// Error: InvalidArgument, with the nearest name.
Result<Shape> parse_shape(std::string_view name);
std::string_view to_string(Shape shape);

/// The same graph on every machine. Predecessors stand before their successors; there are no names.
/// Error: InvalidArgument, LimitExceeded.
Result<Graph> make_graph(const ShapeOptions& options);

/// Makes each subtask require the next of the workers `worker-1` to `worker-<count>` in turn: every edge of a chain
/// crosses.
void alternate_workers(Graph& graph, std::uint32_t count);
/// Makes every subtask the command `program` without arguments.
void become_command(Graph& graph, const std::string& program);

}  // namespace penstock::tools
