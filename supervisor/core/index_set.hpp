// A set of small dense numbers that finds its next member quickly.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::supervisor {

/// A bitmap with two levels of summary above it: 64 x 64 x 64 numbers for each word of the top level. Insertion, erasure
/// and "next at or after" touch three words, whatever the size. Single-threaded.
class IndexSet {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool contains(std::uint32_t number) const {
    return number / 64 < bits_.size() && ((bits_[number / 64] >> (number % 64)) & 1U) != 0;
  }

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
    if (number / 64 >= bits_.size()) return kNone;
    if (const std::uint64_t word = bits_[number / 64] >> (number % 64); word != 0)
      return number + static_cast<std::uint32_t>(std::countr_zero(word));
    std::uint32_t word = next_bit(middle_, number / 64 + 1);
    if (word == kNone) {
      const std::uint32_t block = next_bit(top_, (number / 64 + 1 + 63) / 64);
      if (block == kNone) return kNone;
      word = block * 64 + static_cast<std::uint32_t>(std::countr_zero(middle_[block]));
    }
    return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits_[word]));
  }

  /// The same, going round to the smallest member.
  std::uint32_t next_around(std::uint32_t number) const {
    const std::uint32_t found = next(number);
    return found != kNone ? found : next(0);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::uint64_t bit(std::uint32_t number) { return std::uint64_t{1} << (number % 64); }

  void insert_new(std::uint32_t number) {
    grow(number);
    ++size_;
    bits_[number / 64] |= bit(number);
    middle_[number / 4096] |= bit(number / 64);
    top_[number / 262144] |= bit(number / 4096);
  }

  void erase_known(std::uint32_t number) {
    --size_;
    bits_[number / 64] &= ~bit(number);
    if (bits_[number / 64] != 0) return;
    middle_[number / 4096] &= ~bit(number / 64);
    if (middle_[number / 4096] != 0) return;
    top_[number / 262144] &= ~bit(number / 4096);
  }

  // In `level`, the next set bit at or after `from` within the word of `from`, or, for the top, in any word.
  std::uint32_t next_bit(const std::vector<std::uint64_t>& level, std::uint32_t from) const {
    const bool is_top = &level == &top_;
    for (std::uint32_t word = from / 64; word < level.size(); ++word) {
      const std::uint64_t rest = word == from / 64 ? level[word] >> (from % 64) << (from % 64) : level[word];
      if (rest != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
      if (!is_top) return kNone;
    }
    return kNone;
  }

  void grow(std::uint32_t number) {
    if (number / 64 < bits_.size()) return;
    // No larger than its members ask for: a graph may have thousands of templates with a set each.
    bits_.resize(number / 64 + 1);
    middle_.resize(number / 4096 + 1);
    top_.resize(number / 262144 + 1);
  }

  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> middle_;
  std::vector<std::uint64_t> top_;
  std::size_t size_ = 0;
};

}  // namespace penstock::supervisor
