// Assignments of the supervisor.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "common/protocol/assign.hpp"
#include "common/protocol/config.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/job_table.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
class Cancels;
struct DataRoom;
class JobPriorities;
class OverlapGuard;
struct Reports;
struct Runs;
struct Tables;

/// Takes subtasks in, and returns those for which this worker has no room. A batch that contradicts itself is refused
/// whole and changes nothing. Cost: O(log n) for each assignment.
class AssignmentIntake {
 public:
  AssignmentIntake(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports,
                   DataRoom& data, Runs& runs, JobPriorities& priorities, Cancels& cancels, OverlapGuard& overlap)
      : config_(config),
        event_(event),
        tables_(tables),
        bands_(bands),
        reports_(reports),
        data_(data),
        runs_(runs),
        priorities_(priorities),
        cancels_(cancels),
        overlap_(overlap) {}
  AssignmentIntake(const AssignmentIntake&) = delete;
  AssignmentIntake& operator=(const AssignmentIntake&) = delete;

  void take(const AssignBatch& batch);

 private:
  bool check_batch(const AssignBatch& batch);
  void define_templates(JobContext& job, const AssignBatch& batch);
  std::uint16_t shape_of(const WorkerTemplate& program);
  void accept(JobSlot slot, const Assignment& assignment, std::span<const AssignedInput> inputs,
              std::string_view payload);
  void note_inputs(SubtaskRecord& record, std::span<const AssignedInput> inputs);
  bool has_room_for(const SubtaskRecord& record);
  bool is_new_attempt(JobSlot slot, const Assignment& assignment);

  const WorkerConfig& config_;
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  Reports& reports_;
  DataRoom& data_;
  Runs& runs_;
  JobPriorities& priorities_;
  Cancels& cancels_;
  OverlapGuard& overlap_;
  std::vector<SubtaskIndex> missing_;  ///< Scratch.
};

}  // namespace penstock::worker
