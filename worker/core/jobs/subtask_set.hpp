// A set of subtasks of one job: a bit for each.
#pragma once

#include <cstdint>

#include "common/base/ids.hpp"
#include "worker/core/jobs/sparse_cells.hpp"

namespace penstock::worker {

/// Words appear with their first member and go with their last: 8 KiB for up to 65,536 neighbours. Cost: three loads,
/// and one for a neighbour of the latest member. Single-threaded.
class SubtaskSet {
 public:
  bool contains(SubtaskIndex subtask) const {
    const Word* word = words_.find(subtask.value() / 64);
    return word != nullptr && (word->bits & bit_of(subtask)) != 0;
  }
  void insert(SubtaskIndex subtask) {
    if (subtask.value() / 64 != latest_number_) [[unlikely]]
      look_at(subtask.value() / 64);
    latest_->bits |= bit_of(subtask);
  }
  void erase(SubtaskIndex subtask) {
    has_erased_ = true;
    Word* word = words_.find(subtask.value() / 64);
    if (word == nullptr || word->bits == 0) return;
    word->bits &= ~bit_of(subtask);
    if (word->bits != 0) return;
    words_.free(subtask.value() / 64);
    if (subtask.value() / 64 == latest_number_) latest_number_ = kNone;
  }
  /// Whether `erase` was ever called, for a member or not: if not, all inserted numbers are members.
  bool has_erased() const { return has_erased_; }

 private:
  struct Word {
    std::uint64_t bits = 0;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // A function of its own, so that the path of each subtask does not include the rare one.
  [[gnu::noinline]] void look_at(std::uint32_t number) {
    Word* word = words_.find(number);
    latest_ = word == nullptr || word->bits == 0 ? &words_.use(number) : word;
    latest_number_ = number;
  }
  static std::uint64_t bit_of(SubtaskIndex subtask) { return std::uint64_t{1} << (subtask.value() % 64); }

  SparseCells<Word> words_;
  Word* latest_ = nullptr;  ///< The word of `latest_number_`, which has members; words never move.
  std::uint32_t latest_number_ = kNone;
  bool has_erased_ = false;
};

}  // namespace penstock::worker
