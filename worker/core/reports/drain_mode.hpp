// Whether the worker drains.
#pragma once

#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_table.hpp"

namespace penstock::worker {

/// A draining worker takes no subtask; the supervisor is told once when the last has left.
class DrainMode {
 public:
  DrainMode(EventContext& event, const SubtaskTable& subtasks) : event_(event), subtasks_(subtasks) {}

  bool on() const { return on_; }
  void set(bool on) {
    on_ = on;
    told_empty_ = false;
  }
  /// The worker is not empty any more.
  void subtask_arrived() { told_empty_ = false; }
  void subtask_left() {
    if (on_ && subtasks_.live() == 0) tell();
  }
  /// The supervisor may have forgotten.
  void tell_again() {
    told_empty_ = false;
    if (on_) tell();
  }
  void tell() {
    const bool empty = on_ && subtasks_.live() == 0;
    if (on_ && told_empty_) return;
    told_empty_ = empty;
    event_.out->add(worker_action::SendDrainState{DrainState{on_, empty}});
  }

 private:
  EventContext& event_;
  const SubtaskTable& subtasks_;
  bool on_ = false;
  bool told_empty_ = false;
};

}  // namespace penstock::worker
