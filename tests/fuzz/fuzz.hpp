// The one function that each program of this folder defines, in libFuzzer's form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

/// Takes any bytes; a check, a sanitizer or `fuzz_expect` ends the process where something is wrong. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace penstock {

inline void fuzz_expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// Takes the first byte of an input, by which it says what the others are.
class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }
  /// At most so many bytes.
  std::string_view bytes(std::size_t count) {
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(part.size());
    return part;
  }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }
  /// All that is left, aligned as frames are; an incomplete last word is left out.
  std::vector<std::uint64_t> words() const {
    std::vector<std::uint64_t> words(rest_.size() / 8);
    if (!words.empty()) std::memcpy(words.data(), rest_.data(), words.size() * 8);
    return words;
  }

 private:
  std::string_view rest_;
};

}  // namespace penstock
