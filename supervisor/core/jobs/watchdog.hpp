// The alarm for work that is pending while nothing happens.
#pragma once

#include "common/base/time.hpp"

namespace penstock::supervisor {

/// Looks every `supervisor.watchdog_after` while jobs run, and gives one alarm for each time that nothing has started
/// or ended for so long. Spec: worker 11. Cost: constant.
class Watchdog {
 public:
  explicit Watchdog(Duration after) : after_(after) {}

  /// A subtask has started or ended, or a worker has come.
  void note_progress(Instant now) { progress_at_ = now; }
  /// There is work.
  void begin(Instant now) {
    if (look_at_ == kNever) look_at_ = later(now, after_);
  }
  /// No job runs.
  void stop() { look_at_ = kNever; }
  /// When it is time to look.
  Instant look_at() const { return look_at_; }
  /// Whether it is time to look; the next time is later then.
  bool looks(Instant now) {
    if (now < look_at_) return false;
    look_at_ = later(now, after_);
    return true;
  }
  /// Whether nothing has happened for too long, and no alarm was given of that.
  bool alarms(Instant now) {
    if (now - progress_at_ < after_ || alarm_for_ == progress_at_) return false;
    alarm_for_ = progress_at_;
    return true;
  }

 private:
  const Duration after_;
  Instant progress_at_{};
  Instant look_at_ = kNever;
  Instant alarm_for_ = kNever;  ///< The `progress_at_` of the last alarm.
};

}  // namespace penstock::supervisor
