// A journal of any size on a real disk, for tests that damage it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"
#include "supervisor/core/records.hpp"

namespace penstock::supervisor {

struct JournalShape {
  std::uint32_t jobs = 24;
  std::uint32_t job_bytes = 1U << 16U;  ///< Random ones: they do not compress.
};

/// Writes `directory/journal` as a supervisor that was killed leaves it: a half of the jobs in sorted files, the rest
/// in the log. Job number i is named `made-i`; every fourth has ended, of every other fourth one of four subtasks has.
Result<void> make_journal(const std::string& directory, const JournalShape& shape);

/// The graph of job number `job` of such a journal.
Graph made_graph(std::uint32_t job, const JournalShape& shape);

/// Every job of a state, a line each: its name, its graph by content, what has ended, failed and changed. Two states
/// with the same lines promise the same.
std::string lines_of(const RecoveredState& state);

/// The files of a journal that a damage may hit, in the same order each time.
std::vector<std::filesystem::path> files_of(const std::string& journal);
/// One random damage of one random file, the same for the same seed; says what it was.
std::string strike(const std::vector<std::filesystem::path>& files, std::uint64_t seed);

}  // namespace penstock::supervisor
