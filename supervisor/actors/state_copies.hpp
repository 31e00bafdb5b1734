// Copies of a state: made and checked while its supervisor runs, and put back when it does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "supervisor/store/journal.hpp"

namespace penstock::supervisor {

struct StateSummary {
  std::string path;
  std::uint64_t commits = 0;  ///< Number of the last durable one; 0: an older version has written it.
  std::uint64_t jobs = 0;
  std::uint64_t unfinished = 0;
  JobId next_job = JobId::none();
  JournalIdentity identity;
  std::uint64_t bytes = 0;
};

/// Reads all that was durable up to now, with its checksums, from a copy beside the journal that is removed afterwards.
/// Needs as much room as the newest logs. Errors: StorageDamaged, NotFound (no state), StorageFull.
Result<StateSummary> verify_state(const std::string& directory);

/// Makes `target`, which must not exist, a verified state with all that was durable up to now. The copy shares no file
/// with the original. A kill leaves no `target`. Errors: those of `verify_state`, InvalidArgument.
Result<StateSummary> back_up_state(const std::string& directory, const std::string& target);

/// Puts a backup in the place of the state, in one step and as another branch; the former state stays beside it, under
/// the name that is returned with the summary (`kept`; empty: there was none). The backup stays as it is. Errors:
/// StorageLocked (a supervisor runs), and those of `verify_state` for the backup.
struct RestoredState {
  StateSummary summary;
  std::string kept;
};
Result<RestoredState> restore_state(const std::string& backup, const std::string& directory);

/// The states in a directory: itself, and those directly in it; from their anchors alone, without the counts of jobs.
std::vector<StateSummary> list_states(const std::string& directory);

}  // namespace penstock::supervisor
