// The parts of a supervisor's core that have folders of their own: one list of includes for its header.
#pragma once

#include "supervisor/core/admin/worker_questions.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/ledger/audit_log.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/placement/placement_costs.hpp"
#include "supervisor/core/workers/lost_incarnations.hpp"
#include "supervisor/core/workers/readoption.hpp"
