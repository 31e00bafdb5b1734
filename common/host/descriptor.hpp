// File descriptors and their ownership.
#pragma once

#include <utility>

#include "common/base/result.hpp"

namespace penstock {

/// The owner of a file descriptor. Moved, never copied.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// The caller owns it from now on.
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_ = -1;
};

/// Both ends are closed in programs that we start, unless they are handed over as standard streams.
struct Pipe {
  Descriptor read;
  Descriptor write;
};
/// Error: ResourceExhausted.
Result<Pipe> open_pipe();
/// Later reads and writes return instead of waiting.
void set_non_blocking(const Descriptor& descriptor);

}  // namespace penstock
