// The ends of attempts, and of jobs.
#pragma once

#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
struct DataRoom;
struct Reports;
struct Tables;

/// Ends records: reports the outcome, gives back all that the record holds, once, and frees it. A job that the
/// supervisor has forgotten is closed with its last record. Cost: constant, and the pins of the record.
class SubtaskEnds {
 public:
  SubtaskEnds(EventContext& event, Tables& tables, Bands& bands, Reports& reports, DataRoom& data)
      : event_(event), tables_(tables), bands_(bands), reports_(reports), data_(data) {}
  SubtaskEnds(const SubtaskEnds&) = delete;
  SubtaskEnds& operator=(const SubtaskEnds&) = delete;

  void end(RecordIndex index, Outcome outcome, const FailureDetail* failure = nullptr);
  void fail(RecordIndex index, const FailureDetail& failure) { end(index, Outcome::Failed, &failure); }
  /// Gives back all that the record holds; the only place that does.
  void give_back_all(RecordIndex index, SubtaskRecord& record);
  void close_job_if_done(JobSlot slot);

 private:
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  Reports& reports_;
  DataRoom& data_;
};

}  // namespace penstock::worker
