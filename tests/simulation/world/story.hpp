// The story of a simulated world.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>

#include "common/base/time.hpp"
#include "tests/simulation/world/options.hpp"

namespace penstock::simulation {

/// The lines of a world's story, and their hash, which is the same on every machine.
class Story {
 public:
  explicit Story(const WorldOptions& options) : keeps_(options.keep_trace), to_(options.trace_to) {}
  /// One line: each `%` of `what` stands for the next number.
  void note(Instant now, const char* what, std::initializer_list<std::uint64_t> numbers);
  std::uint64_t hash() const { return hash_; }
  std::string take_text() { return std::move(text_); }

 private:
  const bool keeps_;
  std::ostream* const to_;
  std::uint64_t hash_ = 0x243f6a8885a308d3ULL;
  std::string text_;
};

}  // namespace penstock::simulation
