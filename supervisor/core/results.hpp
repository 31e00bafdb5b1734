// The outputs of a job that its client may have, and their holders. Pure.
#pragma once

#include <string>
#include <vector>

#include "supervisor/core/job.hpp"

namespace penstock::supervisor {

/// Of `results JOB`: the most rows, whatever `--limit` says; they fit into a frame of any size that is allowed.
inline constexpr std::uint32_t kResultRowsMax = 1000;

/// Whether the client could have this output if it is not empty. Of a job that has ended with empty outputs alone,
/// nothing but its specification is remembered.
bool is_kept(const Job& job, std::uint32_t subtask, std::uint32_t output);
/// The key of a subtask while it is known, else its number.
std::string key_of(const Job& job, std::uint32_t subtask);
/// The subtask of that key or number. Error: NotFound.
Result<std::uint32_t> find_subtask(const Job& job, const std::string& key);

/// Keys of the subtasks with kept outputs; none where the graph has no keys, or nothing is kept any more.
std::vector<KeptKey> kept_keys_of(const Job& job);

/// `kept JOB OUTPUT FIRST-LAST...`: the first of these subtasks, in ascending order, without a kept output, as
/// `missing`. A client that was told of no output asks whether it is empty. Error: InvalidArgument.
Result<Value> find_missing(const Job& job, const std::vector<std::string>& arguments);

/// `results JOB [SUBTASK] [--output=N] [--limit=N]`: outputs that are kept and not empty, with their holders; one of
/// one subtask, which is named by key or number, or the first ones of all. `more`: so many others there are. Keys are
/// known while outputs are kept, also by a supervisor that was started anew. Errors, for one subtask: NotFound
/// (no such one, or it is not kept), WrongState (it has not succeeded).
Result<Value> list_results(const Job& job, const AdminRequest& request);

}  // namespace penstock::supervisor
