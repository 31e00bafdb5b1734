// A set of subtasks of one job: a bit for each.
#pragma once

#include <cstdint>

#include "common/base/ids.hpp"
#include "worker/core/sparse_cells.hpp"

namespace penstock::worker {

/// Words appear with their first member and go with their last: 8 KiB for up to 65,536 neighbours. Cost: three loads.
/// Single-threaded.
class SubtaskSet {
 public:
  bool contains(SubtaskIndex subtask) const {
    const Word* word = words_.find(subtask.value() / 64);
    return word != nullptr && (word->bits & bit_of(subtask)) != 0;
  }
  void insert(SubtaskIndex subtask) {
    Word* word = words_.find(subtask.value() / 64);
    if (word == nullptr || word->bits == 0) word = &words_.use(subtask.value() / 64);
    word->bits |= bit_of(subtask);
  }
  void erase(SubtaskIndex subtask) {
    Word* word = words_.find(subtask.value() / 64);
    if (word == nullptr || word->bits == 0) return;
    word->bits &= ~bit_of(subtask);
    if (word->bits == 0) words_.free(subtask.value() / 64);
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
  };
  static std::uint64_t bit_of(SubtaskIndex subtask) { return std::uint64_t{1} << (subtask.value() % 64); }

  SparseCells<Word> words_;
};

}  // namespace penstock::worker
