// A set of small dense numbers that finds its next member quickly.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace penstock::supervisor {

/// A bitmap with two levels of summary above it: 64 x 64 x 64 numbers for each word of the top level. Insertion,
/// erasure and "next at or after" touch three words, whatever the size; most sets have no number above 63, and their
/// only word is a member. Single-threaded.
class IndexSet {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool contains(std::uint32_t number) const { return (word(number / 64) >> (number % 64) & 1U) != 0; }

  void insert(std::uint32_t number) {
    if (!contains(number)) insert_new(number);
  }

  void erase(std::uint32_t number) {
    if (contains(number)) erase_known(number);
  }

  void set(std::uint32_t number, bool member) {
    if (member)
      insert(number);
    else
      erase(number);
  }

  /// The smallest member that is not below `number`; `kNone` if there is none.
  std::uint32_t next(std::uint32_t number) const {
    if (const std::uint64_t rest = word(number / 64) >> (number % 64); rest != 0)
      return number + static_cast<std::uint32_t>(std::countr_zero(rest));
    if (levels_ == nullptr || number / 64 >= levels_->bits.size()) return kNone;
    std::uint32_t at = next_bit(levels_->middle, number / 64 + 1);
    if (at == kNone) {
      const std::uint32_t block = next_bit(levels_->top, (number / 64 + 1 + 63) / 64);
      if (block == kNone) return kNone;
      at = block * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_->middle[block]));
    }
    return at * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_->bits[at]));
  }

  /// The same, going round to the smallest member.
  std::uint32_t next_around(std::uint32_t number) const {
    const std::uint32_t found = next(number);
    return found != kNone ? found : next(0);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  using Words = std::vector<std::uint64_t>;
  struct Levels {
    Words bits;
    Words middle;
    Words top;
  };

  static constexpr std::uint64_t bit(std::uint32_t number) { return std::uint64_t{1} << (number % 64); }

  std::uint64_t word(std::uint32_t at) const {
    if (levels_ == nullptr) return at == 0 ? only_ : 0;
    return at < levels_->bits.size() ? levels_->bits[at] : 0;
  }

  // Apart from the callers that mostly find nothing to change.
  [[gnu::noinline]] void insert_new(std::uint32_t number) {
    ++size_;
    if (levels_ == nullptr && number < 64) {
      only_ |= bit(number);
      return;
    }
    grow(number);
    levels_->bits[number / 64] |= bit(number);
    levels_->middle[number / 4096] |= bit(number / 64);
    levels_->top[number / 262144] |= bit(number / 4096);
  }

  [[gnu::noinline]] void erase_known(std::uint32_t number) {
    --size_;
    if (levels_ == nullptr) {
      only_ &= ~bit(number);
      return;
    }
    levels_->bits[number / 64] &= ~bit(number);
    if (levels_->bits[number / 64] != 0) return;
    levels_->middle[number / 4096] &= ~bit(number / 64);
    if (levels_->middle[number / 4096] != 0) return;
    levels_->top[number / 262144] &= ~bit(number / 4096);
  }

  // In `level`, the next set bit at or after `from` within the word of `from`, or, for the top, in any word.
  std::uint32_t next_bit(const Words& level, std::uint32_t from) const {
    const bool is_top = &level == &levels_->top;
    for (std::uint32_t at = from / 64; at < level.size(); ++at) {
      const std::uint64_t rest = at == from / 64 ? level[at] >> (from % 64) << (from % 64) : level[at];
      if (rest != 0) return at * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
      if (!is_top) return kNone;
    }
    return kNone;
  }

  void grow(std::uint32_t number) {
    if (levels_ == nullptr) {
      const std::uint64_t any = only_ == 0 ? 0 : 1;
      levels_ = std::make_unique<Levels>(Levels{{only_}, {any}, {any}});
    }
    Levels& levels = *levels_;
    if (number / 64 < levels.bits.size()) return;
    // No larger than its members ask for: a graph may have thousands of templates with a set each.
    levels.bits.resize(number / 64 + 1);
    levels.middle.resize(number / 4096 + 1);
    levels.top.resize(number / 262144 + 1);
  }

  std::uint64_t only_ = 0;  ///< Unless there are `levels_`.
  std::size_t size_ = 0;
  std::unique_ptr<Levels> levels_;
};

}  // namespace penstock::supervisor
