// How a running member is asked to give its place back: a flag with a deadline, then the end.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/time.hpp"

namespace penstock::policy {

/// A request to checkpoint and leave, watched by the parts of one gang. The request is a level, not an edge: a watcher
/// sees it whenever it looks. Spec: policy-determined 7.3.
class PreemptionFlag {
 public:
  static constexpr Duration kGraceDefault = std::chrono::hours{1};

  void watch(std::uint32_t watcher);
  void unwatch(std::uint32_t watcher);
  /// Sets the flag; the first time starts the deadline.
  void raise(Instant now, Duration grace);
  /// The request is withdrawn: watchers wake, the deadline is off.
  void close();
  void acknowledge() { acknowledged_ = true; }

  /// Whether this watcher would return from waiting. One that does not watch never does.
  bool is_signalled(std::uint32_t watcher) const;
  bool raised() const { return raised_; }
  bool acknowledged() const { return acknowledged_; }
  /// The time to end all that have not left; `kNever` if nothing is pending.
  Instant deadline() const { return deadline_; }
  bool timed_out(Instant now) const { return now >= deadline_; }

 private:
  std::vector<std::uint32_t> watchers_;
  Instant deadline_ = kNever;
  bool raised_ = false;
  bool closed_ = false;
  bool acknowledged_ = false;
};

/// The phases of one placed gang; never backwards. Spec: policy-determined 7.1.
enum class HoldingState : std::uint8_t { Pending, Assigned, Pulling, Starting, Running, Terminating, Terminated };

/// How a gang that has ended goes on. Spec: policy-determined 7.4, 7.6.
enum class HoldingEnd : std::uint8_t {
  NotEnded,
  Finished,   ///< By itself: it is done.
  Preempted,  ///< Waits again at its old age, from its last checkpoint; no restart is counted.
  Failed,     ///< A restart is counted.
};

/// The places of one gang from assignment to the last exit.
class Holding {
 public:
  explicit Holding(bool preemptible) : preemptible_(preemptible) {}

  void assign() { advance(HoldingState::Assigned); }
  void part_reached(HoldingState state) { advance(state); }
  /// All parts are connected, or the program said so. Survives a restart of the supervisor.
  void set_ready() { ready_ = true; }
  /// Asks it to leave: at once if it has not started, by signal if it can, else by force. Spec: 7.2.
  void ask_to_leave(Instant now, Duration grace);
  void kill();
  void acknowledge() { flag_.acknowledge(); }
  void exited(bool with_error);
  /// Kills all that have not left once the deadline has passed.
  void tick(Instant now);

  HoldingState state() const { return state_; }
  HoldingEnd end() const { return end_; }
  bool ready() const { return ready_; }
  bool resources_released() const { return state_ == HoldingState::Terminated; }
  bool kill_ordered() const { return kill_ordered_; }
  const PreemptionFlag& flag() const { return flag_; }
  PreemptionFlag& flag() { return flag_; }

 private:
  bool started() const { return state_ > HoldingState::Assigned; }
  void advance(HoldingState state) {
    if (state > state_) state_ = state;
  }

  bool preemptible_;
  HoldingState state_ = HoldingState::Pending;
  HoldingEnd end_ = HoldingEnd::NotEnded;
  PreemptionFlag flag_;
  bool ready_ = false;
  bool kill_ordered_ = false;
};

}  // namespace penstock::policy
