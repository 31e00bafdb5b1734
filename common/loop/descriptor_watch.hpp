// Waiting in a loop until a file descriptor is ready.
#pragma once

#include <functional>
#include <memory>

#include "common/host/descriptor.hpp"
#include "common/loop/loop.hpp"

namespace penstock {

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
