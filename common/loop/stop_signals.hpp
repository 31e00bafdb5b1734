// Signals of users and service managers as events.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "common/host/descriptor.hpp"
#include "common/loop/loop.hpp"

namespace penstock {

/// A set of signals, blocked in the thread that makes this object and in every thread that it starts later: make it
/// before the first thread. At most one object of each kind for a process.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> signals);
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// True if a signal has come since the last call. Does not wait.
  bool take();
  /// Calls `on_signal` on the loop's thread for each signal, until the returned watch is destroyed, which must be
  /// before this object.
  class Watch;
  std::shared_ptr<Watch> watch(Loop& loop, std::function<void()> on_signal);
  /// Restores the usual effect of the signals in this thread, also for those that have come.
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
