// The directory in which a preempted program saves its state for its next attempt.
#pragma once

#include <string>

#include "common/base/ids.hpp"
#include "common/host/account.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::worker {

/// Makes the directory of a subtask below the shared one if necessary. Empty if there is no shared directory, the
/// template has no key, or it cannot be made: then the program starts from the beginning. `account`: its owner; null:
/// the worker.
std::string open_checkpoint_directory(const std::string& shared, const Template& program, SubtaskId id,
                                      const Account* account = nullptr);
/// Whether an attempt has saved anything there.
bool has_saved_state(const std::string& directory);
/// Called when the subtask has succeeded.
void remove_checkpoint_directory(const std::string& directory);

}  // namespace penstock::worker
