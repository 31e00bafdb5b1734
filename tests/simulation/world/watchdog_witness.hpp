// A cluster that has work and stands still is told of in time, and once.
#pragma once

#include <string>

#include "common/base/time.hpp"

namespace penstock::simulation {

/// The watchdog looks every `after`. Words of load are no progress; while they say that something runs, nothing is
/// told.
class WatchdogWitness {
 public:
  explicit WatchdogWitness(Duration after) : after_(after) {}
  /// Something may have been begun or have ended, or has come; or there is nothing to do. `surely`: it has.
  void progress(Instant now, bool surely = false) {
    since_ = now;
    may_tell_ = true;
    if (surely) told_ = false;
  }
  void note_load(bool runs, Instant now) {
    if (runs || runs_) ran_until_ = now;
    runs_ = runs;
  }
  /// The watchdog gives alarm. The breach, if that is one; empty: none.
  std::string alarm();
  /// The breach if it has given none by now.
  std::string look(Instant now) const;

 private:
  Duration after_;
  Instant since_{};
  Instant ran_until_{};
  bool runs_ = false;
  bool may_tell_ = true;
  bool told_ = false;  ///< Since something was surely begun or ended.
};

}  // namespace penstock::simulation
