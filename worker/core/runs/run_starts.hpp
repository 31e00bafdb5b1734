// Runs are started, or follow others on their lanes.
#pragma once

#include "worker/core/event_context.hpp"
#include "worker/core/events.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
struct Reports;
class RunWatch;
struct Tables;
struct Taken;

/// Turns an item that has left its queue with a slot into a run. Cost: constant.
class RunStarts {
 public:
  RunStarts(EventContext& event, Tables& tables, Bands& bands, Reports& reports, RunWatch& watch)
      : event_(event), tables_(tables), bands_(bands), reports_(reports), watch_(watch) {}
  RunStarts(const RunStarts&) = delete;
  RunStarts& operator=(const RunStarts&) = delete;

  void start(RecordIndex index, const Taken& taken);
  /// A lane has taken the next run over with the slot of the ended one.
  void take_over(const RunEnd& run);
  worker_action::StartSubtask& order(RecordIndex index, const SubtaskRecord& record);

 private:
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  Reports& reports_;
  RunWatch& watch_;
};

}  // namespace penstock::worker
