// Where a preempted program saves what it has, for its next attempt.
#pragma once

#include <string>

#include "common/base/ids.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::worker {

/// The directory of a subtask below the one that all workers share; made if it is not there. Empty if there is no
/// shared one, the template has no key, or it cannot be made: then the program starts from the beginning.
std::string open_checkpoint_directory(const std::string& shared, const Template& program, SubtaskId id);
/// The subtask has succeeded.
void remove_checkpoint_directory(const std::string& directory);

}  // namespace penstock::worker
