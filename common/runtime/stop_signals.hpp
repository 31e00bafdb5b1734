// Signals of people and service managers as events.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "common/runtime/descriptor.hpp"
#include "common/runtime/loop.hpp"

namespace penstock {

/// Some signals. They are blocked in the thread that makes this, and in every thread that it starts later: make it
/// before the first thread. One of each kind for a process.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> signals);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// True if one has come since the last call. Does not wait.
  bool take();
  /// Calls `on_signal` on the loop's thread for each, until what is returned is destroyed; that must be before this.
  class Watch;
  std::shared_ptr<Watch> watch(Loop& loop, std::function<void()> on_signal);
  /// From now on they have their usual effect again, in this thread; also those that have come.
  void unblock();

 private:
  const std::vector<int> blocked_;
  Descriptor signals_;
};

/// SIGINT and SIGTERM, which end a process: made in `main`.
class StopSignals : public Signals {
 public:
  StopSignals();
};

/// SIGHUP, by which a daemon reads its configuration again.
class ReloadSignals : public Signals {
 public:
  ReloadSignals();
};

}  // namespace penstock
