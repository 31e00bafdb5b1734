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
/// Each number is stored as the difference from the one before, and the predecessor of an edge as the difference from
/// that of the previous subtask at the same place: regular graphs are then runs of the same bytes, and take a hundredth
/// of their columns. Numbers are zigzag varints. Cost: about 1.5 ns for each number, and the time of LZ4 for payloads
/// and names. Owned by one thread.
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

/// Fills the columns of `chunk`, which begins with subtask `first` of its graph. Error: StorageDamaged. No input makes
/// it touch memory that is not ours, or allocate more than `raw_bytes` accounts for.
Result<void> unpack_columns(const GraphPacker::Packed& packed, std::uint32_t first, std::uint32_t count, Graph& chunk);

}  // namespace penstock::supervisor
