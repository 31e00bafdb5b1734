#include "supervisor/core/lifecycle/job_acceptance.hpp"

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/driver/policy_membership.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/graph_price.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/lifecycle/job_names.hpp"
#include "supervisor/core/lifecycle/job_releases.hpp"
#include "supervisor/core/lifecycle/nested_runs.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/job_records.hpp"
#include "supervisor/core/policy/policy_checks.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/priority_scale.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/submissions.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {
namespace {

/// Runs of earlier jobs of a graph that count: enough to trust their mean, few enough to learn anew.
constexpr std::uint64_t kRunsRemembered = 7;

/// An order for a job of such a name would go to the job of that number. Submitting an existing job with such a name
/// again is still answered as a repetition: earlier versions took such names.
Result<void> check_new_name(const std::string& name) {
  if (!job_selector_of(name).id.valid()) return {};
  return Error{ErrorCode::InvalidArgument, "job name '" + name + "'", "reads as the number of a job",
               "put a letter before it"};
}

/// `more`: bytes that the job takes together with a graph that is not held yet, or beside one that is.
Result<void> check_memory(const SupervisorConfig& config, std::uint64_t held, std::uint64_t more, const JobSpec& spec) {
  if (config.memory_max.is_zero() || held + more <= static_cast<std::uint64_t>(config.memory_max.value())) return {};
  PENSTOCK_COVERAGE_MARK("a job is too dear for the memory that is left");
  return over_memory(spec.name, more, held, config.memory_max);
}

}  // namespace

void JobAcceptance::submit_again(ClientId client, const SubmitAgain& message, const JobIdentity& identity) {
  SubmitReply reply;
  reply.submission = message.submission;
  JobSpec spec = message.spec;
  const GraphHash hash = graph_of(message);
  if (!is_new(client, reply, spec, hash)) return;
  SharedGraph* graph = hash.valid() ? tables_.graphs.join(hash) : nullptr;
  if (graph == nullptr) {
    PENSTOCK_COVERAGE_MARK("a graph that is to run again is not known");
    const std::string subject = hash.valid() ? "graph " + to_string(hash) : "graph of job '" + message.like.name + "'";
    return refuse(client, reply,
                  Error{ErrorCode::UnknownGraph, subject, "is not known (any more)",
                        "send the graph; `supervisor.cached_graphs_max` says how many are kept"});
  }
  if (const Result<void> good = check_known(spec, *graph); !good) return refuse(client, reply, good.error());
  ++tables_.counters.graphs_again;
  accept(client, reply, std::move(spec), *graph, identity);
}

Result<JobId> JobAcceptance::run_again(JobSpec spec, SharedGraph& graph, const JobIdentity& identity) {
  Result<void> good = check_owner(spec);
  if (good)
    good = check_known(spec, graph);
  else
    tables_.graphs.leave(graph);
  if (!good) {
    ++tables_.counters.jobs_refused;
    return good.error();
  }
  ++tables_.counters.graphs_again;
  const JobId id = tables_.jobs.next();
  begin(std::move(spec), graph, identity, ClientId::none());
  return id;
}

Result<void> JobAcceptance::check_known(JobSpec& spec, SharedGraph& graph) {
  policy_base_.view.route_light(spec, *graph.shape);
  Result<void> good = policy_base_.feasibility.check_feasible(spec, *graph.shape);
  if (good) good = placement_.external_inputs.check_external_inputs(spec, *graph.shape);
  // The job counts among those of the graph already.
  const std::uint64_t held = tables_.graphs.held_bytes() - graph.price_of_job;
  if (good) good = check_memory(config_, held, graph.price_of_job, spec);
  if (!good) tables_.graphs.leave(graph);
  return good;
}

GraphHash JobAcceptance::graph_of(const SubmitAgain& message) {
  if (message.graph.valid()) return message.graph;
  const Job* like = tables_.jobs.find(message.like);
  return like == nullptr ? GraphHash{} : like->graph.hash;
}

void JobAcceptance::refuse(ClientId client, SubmitReply& reply, Error error) {
  ++tables_.counters.jobs_refused;
  reply.refusal = std::move(error);
  ledger_.gate.send_to_client(client, std::move(reply));
}

bool JobAcceptance::is_new(ClientId client, SubmitReply& reply, JobSpec& spec, const GraphHash& graph) {
  const auto refused = [&](const Result<void>& good) {
    if (!good) refuse(client, reply, good.error());
    return !good;
  };
  spec.content = graph.valid() ? content_hash(spec, graph) : GraphHash{};
  spec.runs = {};
  if (refused(check_name(spec.name, "job name", config_.graph.name_bytes_max))) return false;
  const JobNames names{tables_.jobs, ledger_.clock, event_.now, config_.earlier_runs_max};
  const Result<Job*> known = names.settle(spec);
  if (!known) {
    refuse(client, reply, known.error());
    return false;
  }
  if (*known != nullptr) {
    reply.job = (*known)->id;
    reply.identity = (*known)->identity;
    reply.existed = true;
    reply.ours = spec.submitter != 0 && spec.submitter == (*known)->spec.submitter;
    ledger_.gate.send_to_client(client, std::move(reply));
    follow(**known, client);
    return false;
  }
  // A number behind it may have made it too long.
  if (refused(check_name(spec.name, "job name", config_.graph.name_bytes_max))) return false;
  return !refused(check_new_name(spec.name)) && !refused(check_owner(spec));
}

Result<void> JobAcceptance::check_owner(JobSpec& spec) {
  if (ledger_.gate.trouble().has_value()) return *ledger_.gate.trouble();
  PENSTOCK_TRY(nested_.take_after_parent(spec));
  PENSTOCK_TRY(check_users_jobs(spec.owner));
  return policy_base_.checks.check_policy_of(spec);
}

Result<void> JobAcceptance::check_users_jobs(const std::string& user) const {
  const std::uint64_t jobs = tables_.indices.of_users.count(user);
  if (jobs < config_.users.jobs_max) return {};
  PENSTOCK_COVERAGE_MARK("a user has as many jobs as it may");
  return Error{ErrorCode::LimitExceeded, "user '" + user + "'",
               "has " + std::to_string(jobs) + " jobs that have not ended, and `users.jobs_max` is " +
                   std::to_string(config_.users.jobs_max),
               "wait until one of them has ended or cancel one, or raise `users.jobs_max`"};
}

void JobAcceptance::accept(ClientId client, SubmitReply& reply, JobSpec spec, SharedGraph& graph,
                           const JobIdentity& identity) {
  reply.job = tables_.jobs.next();
  reply.identity = identity;
  ledger_.gate.send_to_client(client, std::move(reply));
  begin(std::move(spec), graph, identity, client);
}

void JobAcceptance::begin(JobSpec spec, SharedGraph& graph, const JobIdentity& identity, ClientId follower) {
  const JobId id = tables_.jobs.next();
  ++tables_.counters.jobs_accepted;
  spec.priority = *policy_base_.view.scale_of(spec).inside_of_new(spec.priority);  // The priority has been checked.
  Job& job = make_job(std::move(spec), graph, id);
  job.identity = identity;
  if (follower.valid()) outputs_.progress.submitted(job, follower);
  placement_.external_inputs.add_references(job);
  if (!ledger_.gate.durable()) return place_sources(job);
  job.status.waiting_for_disk = true;
  ledger_.accepting.add(id);
  if (!graph.written_as.valid()) graph.written_as = id;
  tables_.graphs.join(graph);  // Kept until it is written, whatever becomes of the job.
  ledger_.being_written.add(&graph);
  ledger_.gate.write(record::JobAccepted{id, job.spec, &job.graph.shape->graph(),
                                         ledger_.clock.unix_ms(job.status.submitted), graph.written_as,
                                         job.scale.code(), identity});
}

Job& JobAcceptance::make_job(JobSpec spec, SharedGraph& graph, JobId id) {
  Job& job = tables_.jobs.add(id);
  job.spec = std::move(spec);
  job.scale = policy_base_.view.scale_of(job.spec);
  if (job.spec.name.empty()) job.spec.name = to_string(id);
  job.graph.shared = &graph;
  job.graph.shape = graph.shape.get();
  job.graph.hash = job.graph.shape->hash();
  job.status.submitted = event_.now;
  job.hot.resize(job.graph.shape->size());
  for (const LearnedDuration& learned : graph.learned)
    job.graph.templates.push_back({std::min(learned.runs, kRunsRemembered), learned.mean_ns});
  SubtaskMachine::open(job);
  tables_.jobs.add_name(job);
  const std::vector<bool> read = job.spec.keep == Keep::Sinks ? job.graph.shape->read_subtasks() : std::vector<bool>{};
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    SubtaskHot& hot = job.hot[i];
    const bool is_read = read.empty() ? !job.graph.shape->successors(i).empty() : read[i];
    if (job.spec.keep == Keep::Sinks && !is_read) hot.flags |= SubtaskFlag::kWanted;
  }
  if (job.spec.keep == Keep::Wanted)
    for (const std::uint32_t wanted : job.graph.shape->graph().wanted) job.hot[wanted].flags |= SubtaskFlag::kWanted;
  tables_.indices.active.insert(id, job.precedence());
  tables_.indices.of_users.add(job.spec.owner);
  driver_.membership.open_shares(job);
  driver_.fallbacks.open_labels(job);
  nested_.adopt(job);
  tables_.watchdog.note_progress(event_.now);
  tables_.watchdog.begin(event_.now);
  return job;
}

void JobAcceptance::place_sources(Job& job) {
  // Room for all at once: of what is not used no page is ever touched, and growing would touch everything twice.
  LargeArray<std::uint32_t> sources;
  sources.reserve(job.total());
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (job.hot[i].unplaced == 0 && job.hot[i].missing == 0 && job.hot[i].phase == SubtaskPhase::Waiting &&
        job.graph.shape->predecessors(i).empty())
      sources.push_back(i);
  std::vector<BandSlot> bands;
  std::uint64_t slots = 0;
  for (std::uint32_t i = 0; i < fleet_.workers.band_slots(); ++i) {
    const BandEntry& band = fleet_.workers[BandSlot{i}];
    if (!band.alive || band.draining || band.description.kind != BandKind::Cpu) continue;
    if (!policy_base_.view.may_use(job, BandSlot{i})) continue;
    bands.push_back(BandSlot{i});
    slots += band.slots;
  }
  std::size_t next = 0;
  std::uint64_t slots_before = 0;
  LargeArray<std::uint64_t> keys;
  std::uint32_t known = ~std::uint32_t{0};  // Neighbours mostly have one template, which is judged once.
  bool is_plain = false;
  for (const BandSlot slot : bands) {
    slots_before += fleet_.workers[slot].slots;
    const std::size_t end = static_cast<std::size_t>(sources.size() * slots_before / slots);
    keys.clear();
    keys.reserve(end - next);
    for (; next < end; ++next) {
      const std::uint32_t subtask = sources[next];
      if (const std::uint32_t index = job.graph.shape->template_index(subtask); index != known) {
        const Template& wanted = job.graph.shape->template_of(subtask);
        is_plain = fleet_.eligibility.bands_of(job, index).everywhere && !wants_gpu(wanted) && wanted.preferred.empty();
        known = index;
      }
      const SubtaskHistory* history =
          job.extras.histories->empty() ? nullptr : job.extras.histories->find(SubtaskIndex{subtask});
      const bool avoids = history != nullptr && (history->larger.valid() || !history->tried.empty());
      const bool avoids_overlap = job.status.overlap_until > Instant{} && never_overlaps(job, subtask);
      const bool anywhere =
          is_plain && !avoids && !avoids_overlap && job.graph.shape->external_input_of(subtask) == nullptr;
      if (!anywhere) {
        placement_.placer.become_placeable(job, subtask);
        continue;
      }
      placement_.machine.transition(job, subtask, SubtaskPhase::Placeable);
      job.hot[subtask].band = slot;
      keys.push_back(job.order_key(subtask));
    }
    if (keys.empty()) continue;
    if (!std::is_sorted(keys.begin(), keys.end())) std::sort(keys.begin(), keys.end());
    LocalSet& local = job.place.locals.at(slot);
    for (const std::uint64_t key : keys) local.push_ready(key);
    fleet_.bands.change_ready(slot, static_cast<std::int32_t>(keys.size()));
    placement_.queues.enter_waiting(job, slot, local);
    if (job.shares != nullptr) placement_.queues.ask_for_slots(job, slot);
  }
  for (; next < sources.size(); ++next) placement_.placer.become_placeable(job, sources[next]);
}

void JobAcceptance::withdraw(JobId id) {
  if (!tables_.jobs.knows(id)) return;
  Job& job = tables_.jobs[id];
  job.status.waiting_for_disk = false;
  if (job.status.state != JobState::Running || job.status.cancelling) return;  // Its end is being written behind it.
  PENSTOCK_COVERAGE_MARK("an acceptance could not be written");
  ++tables_.counters.jobs_refused;
  ledger_.gate.withdraw(id);
  tables_.indices.active.erase(id, job.precedence());
  tables_.indices.of_users.remove(job.spec.owner);
  driver_.membership.leave_policy(job);
  if (tables_.indices.active.empty()) tables_.watchdog.stop();
  tables_.jobs.remove_name(job);
  releases_.drop_references(job);
  releases_.leave_graph(job);
  releases_.erase_job(job);
  // Should the disk come back, both are written together, and nothing remains.
  ledger_.gate.write(record::JobForgotten{id});
}

void JobAcceptance::submit(supervisor_event::GraphChecked& event) {
  SubmitReply reply;
  reply.submission = event.submission;
  reply.retry_after = event.retry_after;
  if (event.shape == nullptr) return refuse(event.client, reply, std::move(event.refusal));
  if (!is_new(event.client, reply, event.spec, event.shape->hash())) return;
  policy_base_.view.route_light(event.spec, *event.shape);
  if (const Result<void> feasible = policy_base_.feasibility.check_feasible(event.spec, *event.shape); !feasible)
    return refuse(event.client, reply, feasible.error());
  if (const Result<void> available = placement_.external_inputs.check_external_inputs(event.spec, *event.shape);
      !available)
    return refuse(event.client, reply, available.error());
  const std::uint64_t price = graph_price(totals_of(event.shape->graph())) + outputs_price(*event.shape);
  if (const Result<void> room = check_memory(config_, tables_.graphs.held_bytes(), price, event.spec); !room)
    return refuse(event.client, reply, room.error());
  accept(event.client, reply, std::move(event.spec), tables_.graphs.add(std::move(event.shape)), event.identity);
}

}  // namespace penstock::supervisor
