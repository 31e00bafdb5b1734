// The rooms of a worker's core: its parts, in order of calls.
#pragma once

#include "worker/core/band/bands.hpp"
#include "worker/core/data/data_keeper.hpp"
#include "worker/core/data/data_table.hpp"
#include "worker/core/data/memory_room.hpp"
#include "worker/core/data/record_inputs.hpp"
#include "worker/core/data/spiller.hpp"
#include "worker/core/jobs/shape_table.hpp"
#include "worker/core/jobs/subtask_table.hpp"
#include "worker/core/jobs/successor_table.hpp"
#include "worker/core/orders/assignment_intake.hpp"
#include "worker/core/orders/cancels.hpp"
#include "worker/core/orders/data_orders.hpp"
#include "worker/core/orders/entitlements.hpp"
#include "worker/core/orders/job_priorities.hpp"
#include "worker/core/orders/overlap_guard.hpp"
#include "worker/core/orders/slot_loans.hpp"
#include "worker/core/reports/claim_writer.hpp"
#include "worker/core/reports/drain_mode.hpp"
#include "worker/core/reports/reporter.hpp"
#include "worker/core/runs/band_pump.hpp"
#include "worker/core/runs/memory_grants.hpp"
#include "worker/core/runs/run_ends.hpp"
#include "worker/core/runs/run_offers.hpp"
#include "worker/core/runs/run_starts.hpp"
#include "worker/core/runs/run_watch.hpp"
#include "worker/core/runs/subtask_ends.hpp"
#include "worker/core/runs/subtask_flow.hpp"

namespace penstock::worker {

/// Jobs, their subtasks here, and successors that wait for producers.
struct Tables {
  Tables();

  JobSlot open_job(JobId id);
  /// Alike; the job's data are given to peers that name this identity. REQUIRES: the job is not known by another one.
  JobSlot open_job(JobId id, const JobIdentity& identity, EventContext& event);

  JobTable jobs;
  SubtaskTable subtasks;
  SuccessorTable successors;
  ShapeTable shapes;
  WorkerCounters counters;
};

/// Reports, and the state of draining.
struct Reports {
  Reports(const WorkerConfig& config, EventContext& event, Tables& tables);

  Reporter reporter;
  DrainMode drain;
};

/// Data that are here, on their way, or known.
struct DataRoom {
  DataRoom(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports);

  DataTable table;
  MemoryRoom room;
  DataKeeper keeper;
  RecordInputs inputs;
  Spiller spiller;
};

/// The way of a subtask through the bands, from its arrival to its report.
struct Runs {
  Runs(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports, DataRoom& data);

  MemoryGrants grants;
  RunWatch watch;
  RunStarts starts;
  RunOffers offers;
  SubtaskEnds ends;
  SubtaskFlow flow;
  BandPump pump;
  RunEnds run_ends;
};

/// Orders of the supervisor, and wishes of runs.
struct Orders {
  Orders(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports,
         DataRoom& data, Runs& runs);

  JobPriorities priorities;
  Entitlements entitlements;
  Cancels cancels;
  OverlapGuard overlap;
  AssignmentIntake intake;
  DataOrders data;
  SlotLoans loans;
  ClaimWriter claims;
};

}  // namespace penstock::worker
