// The columns of a graph as the journal has them: differences, then LZ4. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::supervisor {

/// Packs columns of graphs, piece by piece, in memory that it keeps.
///
/// What is stored is how each number differs from the one before, and of an edge how its predecessor differs from the
/// one that the subtask before has at the same place: regular graphs are runs of the same bytes then, and take a
/// hundredth of their columns. Numbers are zigzag varints. Cost: about 1.5 ns for each number, and what LZ4 takes for
/// payloads and names. Owned by one thread.
class GraphPacker {
 public:
  /// The packed form. Valid until the next call.
  struct Packed {
    std::string_view bytes;       ///< One block of LZ4.
    std::uint64_t raw_bytes = 0;  ///< Before it was compressed.
  };
  /// Subtasks `first` to `first + count - 1` with their edges; not the templates, and not `wanted`.
  Packed pack(const Graph& graph, std::uint32_t first, std::uint32_t count);

 private:
  /// Memory that only grows, and is not cleared.
  struct Room {
    std::unique_ptr<char[]> memory;
    std::size_t size = 0;
    char* of(std::size_t wanted);
  };

  Room raw_;
  Room packed_;
};

/// Fills the columns of `chunk`, which begins with subtask `first` of its graph. Error: StorageDamaged; whatever the
/// bytes are, no memory is touched that is not ours, and no more is taken than `raw_bytes` accounts for.
Result<void> unpack_columns(const GraphPacker::Packed& packed, std::uint32_t first, std::uint32_t count, Graph& chunk);

}  // namespace penstock::supervisor
