// Sizes, places and readers of the outputs of one job.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/lookup_map.hpp"
#include "common/base/seldom.hpp"
#include "supervisor/core/graph_shape.hpp"

namespace penstock::supervisor {

/// Bookkeeping of outputs that have bytes. A job with only empty outputs never allocates any of it: it takes a pointer.
///
/// The primary copy of a subtask's outputs is on the worker of the band where it succeeded; further copies are
/// replicas.
class OutputTable {
 public:
  bool in_use() const { return !books_->bytes.empty(); }
  /// Makes room. `readers` are counted from the graph; the caller takes away those that are final already.
  void open(const GraphShape& shape);
  void clear();

  std::int64_t bytes(const GraphShape& shape, std::uint32_t subtask, std::uint16_t output) const;
  void set_bytes(const GraphShape& shape, std::uint32_t subtask, std::uint16_t output, std::int64_t bytes);
  /// All outputs of the subtask together.
  std::int64_t total_bytes(const GraphShape& shape, std::uint32_t subtask) const;

  /// Data edges to subtasks that are not final.
  std::uint32_t& readers(std::uint32_t subtask) { return books_.edit().readers[subtask]; }
  std::uint32_t readers(std::uint32_t subtask) const { return books_->readers[subtask]; }

  /// True if its outputs were dropped or lost and exist nowhere.
  bool gone(std::uint32_t subtask) const { return books_->gone[subtask]; }
  void set_gone(std::uint32_t subtask, bool gone) { books_.edit().gone[subtask] = gone; }

  void add_replica(std::uint32_t subtask, WorkerId worker);
  void remove_replica(std::uint32_t subtask, WorkerId worker);
  /// Workers that hold copies besides the primary one; they may hold only some of several outputs.
  const std::vector<WorkerId>* replicas(std::uint32_t subtask) const;
  /// True if the worker holds a copy of all that the subtask made. Of several outputs it may have fetched only some.
  bool is_copied_to(const GraphShape& shape, std::uint32_t subtask, WorkerId worker) const;
  void forget_replicas(std::uint32_t subtask) {
    if (!books_->replicas.empty()) books_.edit().replicas.erase(SubtaskIndex{subtask});
  }

  /// The incarnation of the worker that has put the output on shared storage; null if none has.
  const Incarnation* checkpoint(std::uint32_t subtask) const { return books_->checkpoints.find(SubtaskIndex{subtask}); }
  void set_checkpoint(std::uint32_t subtask, Incarnation writer);
  void forget_checkpoint(std::uint32_t subtask);
  /// The number of checkpoints by incarnation of their writer.
  const std::map<Incarnation, std::uint32_t>& writers() const { return books_->writers; }

 private:
  std::size_t position(const GraphShape& shape, std::uint32_t subtask, std::uint16_t output) const;

  struct Books {
    std::vector<std::int64_t> bytes;
    std::vector<std::uint32_t> first;  ///< Position of output 0 of each subtask; empty if each has at most one.
    std::vector<std::uint32_t> readers;
    std::vector<bool> gone;
    LookupMap<SubtaskIndex, std::vector<WorkerId>> replicas;
    LookupMap<SubtaskIndex, Incarnation> checkpoints;
    std::map<Incarnation, std::uint32_t> writers;
  };
  Seldom<Books> books_;
};

}  // namespace penstock::supervisor
