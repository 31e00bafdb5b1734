// File descriptors: their ownership, and waiting for them in a loop.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "common/base/result.hpp"
#include "common/runtime/loop.hpp"

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

/// Waits on a loop until a descriptor is ready. For the loop's own thread. Destroying it ends the wait; the descriptor
/// must outlive it.
class DescriptorWatch {
 public:
  DescriptorWatch(Loop& loop, const Descriptor& descriptor);
  ~DescriptorWatch();
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

  /// Calls `work` once, when the descriptor can be read (a process: has ended) or its other side is gone.
  void when_readable(std::function<void()> work);
  void when_writable(std::function<void()> work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock
