// The output that a command has written, within a limit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::worker {

/// Keeps the beginning of a stream. Bytes beyond the limit are counted and dropped.
class OutputHead {
 public:
  explicit OutputHead(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  void add(std::string_view bytes);
  std::uint64_t dropped_bytes() const { return dropped_; }
  /// The kept bytes; if bytes were dropped, a last line says how many. Only that line exceeds the limit.
  std::string take();
  const std::string& kept() const { return kept_; }

 private:
  const std::uint64_t bytes_max_;
  std::string kept_;
  std::uint64_t dropped_ = 0;
};

/// Keeps the end of a stream. Memory: at most twice the limit.
class OutputTail {
 public:
  explicit OutputTail(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void add(std::string_view bytes);
  std::string take();
  bool empty() const { return kept_.empty(); }

 private:
  const std::size_t bytes_max_;
  std::string kept_;
};

}  // namespace penstock::worker
