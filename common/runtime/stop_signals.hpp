// SIGINT and SIGTERM as events.
#pragma once

#include <functional>
#include <memory>

#include "common/runtime/descriptor.hpp"
#include "common/runtime/loop.hpp"

namespace penstock {

/// The signals by which people and service managers end a process. They are blocked in the thread that makes this, and
/// in every thread that it starts later: make it in `main`, before the first thread. One for a process.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// True if one has come since the last call. Does not wait.
  bool take();
  /// Calls `on_stop` on the loop's thread for each, until what is returned is destroyed; that must be before this.
  class Watch;
  std::shared_ptr<Watch> watch(Loop& loop, std::function<void()> on_stop);

 private:
  Descriptor signals_;
};

}  // namespace penstock
