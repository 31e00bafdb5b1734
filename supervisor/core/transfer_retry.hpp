// Inputs with a live holder that cannot be reached from a worker that wants them: this file alone decides how long
// fetches are tried, and from which copies.
#pragma once

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// An attempt on `worker` got no input. Neither charged nor counted: the way between two workers is at fault. After
/// `transfers_tried_max` in a row other workers are tried as well; the holder may be one of them. True after
/// `transfer_patience` without success on any, which is counted as one failure: the input is remade elsewhere.
bool note_unreachable_input(SubtaskHistory& history, const WorkerTable& workers, WorkerSlot worker,
                            const SupervisorConfig& config, Instant now);

/// None of its bands is tried, until all others have been.
void rule_out_worker(SubtaskHistory& history, const WorkerTable& workers, WorkerSlot worker);

/// Where to get an input from that is not on the reader's worker: one copy after the other, while it could not be got.
WorkerId copy_to_try(const Job& job, const WorkerTable& workers, std::uint32_t subtask, std::uint32_t producer);

}  // namespace penstock::supervisor
