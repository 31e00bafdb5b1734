// Answers to operators about outputs: where they are, and for what they are kept.
#pragma once

#include "common/protocol/client.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Rows of outputs that exist, those with the most bytes first, added up `--by` job, worker, owner or template; only of
/// `--job`; at most `--limit` rows. Each byte is counted for the first that holds it: the client, other jobs, subtasks
/// of the same job that have still to read it, or nobody (an output is *retained* while memory is plentiful). Copies
/// on further workers are counted apart. Cost: linear in the subtasks of jobs with outputs.
/// Errors: NotFound, InvalidArgument.
Result<Value> describe_data(JobTable& jobs, const WorkerTable& workers, const AdminRequest& request);

/// The place of the outputs of one subtask, and what they are kept for. Cost: linear in running jobs with external
/// inputs. Errors: NotFound.
Result<Value> explain_data(const JobTable& jobs, const WorkerTable& workers, const Job& job,
                           const std::string& key);

/// `places JOB SUBTASK...`: the place of the outputs of each of these subtasks, in that order. Cost: linear in them.
/// Errors: NotFound.
Result<Value> list_places(const WorkerTable& workers, const Job& job, const AdminRequest& request);

}  // namespace penstock::supervisor
