#include "worker/core/rooms.hpp"

namespace penstock::worker {

Tables::Tables() : subtasks(jobs) {}

JobSlot Tables::open_job(JobId id) {
  const bool known = jobs.find(id).valid();
  const JobSlot slot = jobs.open(id);
  if (!known) successors.open_job(slot);
  return slot;
}

JobSlot Tables::open_job(JobId id, const JobIdentity& identity, EventContext& event) {
  const JobSlot slot = open_job(id);
  JobContext& job = jobs[slot];
  if (identity.valid() && !job.identity.valid()) {
    job.identity = identity;
    event.out->add(worker_action::NameJob{id, identity});
  }
  return slot;
}

Reports::Reports(const WorkerConfig& config, EventContext& event, Tables& tables)
    : reporter(config, event, tables.jobs, tables.counters), drain(event, tables.subtasks) {}

DataRoom::DataRoom(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports)
    : room(config, event, table, tables.subtasks, bands),
      keeper(config, event, tables.jobs, tables.subtasks, tables.counters, reports.reporter, table, room),
      inputs(tables.jobs, tables.subtasks, table, keeper),
      spiller(config, event, tables.jobs, tables.subtasks, tables.counters, bands, table, room) {}

Runs::Runs(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports,
           DataRoom& data)
    : grants(config, tables, bands),
      watch(config, event, tables, bands, reports),
      starts(event, tables, bands, reports, watch),
      offers(config, event, tables, bands, data, starts),
      ends(event, tables, bands, reports, data),
      flow(event, tables, bands, data, grants, ends),
      pump(tables, bands, data, grants, starts, offers, flow),
      run_ends(config, event, tables, bands, reports, data, grants, starts, ends, flow) {}

Orders::Orders(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, Reports& reports,
               DataRoom& data_room, Runs& runs)
    : priorities(tables, bands),
      entitlements(config, event, tables, bands, runs.pump),
      cancels(tables, bands, data_room, runs, entitlements),
      overlap(config, event, tables, runs),
      intake(config, event, tables, bands, reports, data_room, runs, priorities, cancels, overlap),
      data(event, tables, reports, data_room, runs),
      loans(event, tables, bands, reports),
      claims(config, event, tables.jobs, tables.subtasks, data_room.table) {}

}  // namespace penstock::worker
