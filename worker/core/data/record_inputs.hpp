// The inputs of a subtask, and the data that it pins.
#pragma once

#include <optional>

#include "worker/core/data/data_keeper.hpp"

namespace penstock::worker {

/// Answers where the inputs of a record are, and pins them: pinned data stay until the record ends.
/// Absence is never emptiness: an input that the data table does not have is empty if its assignment says so, or if all
/// outputs of its producer are known here. Cost: a look-up for each input.
class RecordInputs {
 public:
  RecordInputs(const JobTable& jobs, SubtaskTable& subtasks, DataTable& table, DataKeeper& keeper)
      : jobs_(jobs), subtasks_(subtasks), table_(table), keeper_(keeper) {}

  /// Known bytes of the inputs that preparing would pin.
  Bytes bytes(const SubtaskRecord& record) const;
  /// `Hit` if all inputs are in memory, `InputSpilled` if some are on disk, else `InputRemote`. REQUIRES: the record's
  /// producers have finished.
  ForwardResult place(const SubtaskRecord& record) const;
  /// Returns the first input that is neither empty nor known to be anywhere.
  std::optional<DataKey> pin(SubtaskRecord& record);
  /// The same for a record with all its inputs in memory. Inputs that are known to be empty need no look-up.
  void pin_present(SubtaskRecord& record);
  /// Waits until all pinned data are in memory. True if they are.
  bool wait(RecordIndex index, const SubtaskRecord& record);
  /// The record needs its inputs no longer.
  void let_go(RecordIndex index, SubtaskRecord& record);

 private:
  bool is_empty(const SubtaskRecord& record, const RunInput& input) const;
  bool reads_nothing(const SubtaskRecord& record) const;
  static void omit_inputs(SubtaskRecord& record);

  const JobTable& jobs_;
  SubtaskTable& subtasks_;
  DataTable& table_;
  DataKeeper& keeper_;
};

}  // namespace penstock::worker
