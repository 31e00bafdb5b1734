// SupervisorCore: graphs on their way to becoming jobs, sent whole or named by their content.
#include "common/base/coverage_mark.hpp"
#include "supervisor/core/graph_price.hpp"
#include "supervisor/core/priority_scale.hpp"
#include "supervisor/core/submissions.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

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

void SupervisorCore::on(supervisor_event::GraphChecked& event) {
  SubmitReply reply;
  reply.submission = event.submission;
  if (event.shape == nullptr) return refuse(event.client, reply, std::move(event.refusal));
  if (!is_new(event.client, reply, event.spec)) return;
  if (const Result<void> feasible = check_feasible(event.spec, *event.shape); !feasible)
    return refuse(event.client, reply, feasible.error());
  if (const Result<void> available = check_external_inputs(event.spec, *event.shape); !available)
    return refuse(event.client, reply, available.error());
  const std::uint64_t price = graph_price(totals_of(event.shape->graph())) + outputs_price(*event.shape);
  if (const Result<void> room = check_memory(config_, held_bytes(), price, event.spec); !room)
    return refuse(event.client, reply, room.error());
  accept(event.client, reply, std::move(event.spec), graphs_.add(std::move(event.shape)), event.identity);
}

// The graph was checked when it came; the capacity of the cluster may have changed since.
void SupervisorCore::submit_again(ClientId client, const SubmitAgain& message, const JobIdentity& identity) {
  SubmitReply reply;
  reply.submission = message.submission;
  if (!is_new(client, reply, message.spec)) return;
  const GraphHash hash = graph_of(message);
  SharedGraph* graph = hash.valid() ? graphs_.join(hash) : nullptr;
  if (graph == nullptr) {
    PENSTOCK_COVERAGE_MARK("a graph that is to run again is not known");
    const std::string subject = hash.valid() ? "graph " + to_string(hash) : "graph of job '" + message.like.name + "'";
    return refuse(client, reply,
                  Error{ErrorCode::UnknownGraph, subject, "is not known (any more)",
                        "send the graph; `supervisor.cached_graphs_max` says how many are kept"});
  }
  if (const Result<void> feasible = check_feasible(message.spec, *graph->shape); !feasible) {
    graphs_.leave(*graph);
    return refuse(client, reply, feasible.error());
  }
  if (const Result<void> available = check_external_inputs(message.spec, *graph->shape); !available) {
    graphs_.leave(*graph);
    return refuse(client, reply, available.error());
  }
  // The job counts among those of the graph already.
  const std::uint64_t held = held_bytes() - graph->price_of_job;
  if (const Result<void> room = check_memory(config_, held, graph->price_of_job, message.spec); !room) {
    graphs_.leave(*graph);
    return refuse(client, reply, room.error());
  }
  ++counters_.graphs_again;
  accept(client, reply, message.spec, *graph, identity);
}

GraphHash SupervisorCore::graph_of(const SubmitAgain& message) {
  if (message.graph.valid()) return message.graph;
  const Job* like = jobs_.find(message.like);
  return like == nullptr ? GraphHash{} : like->graph_hash;
}

void SupervisorCore::refuse(ClientId client, SubmitReply& reply, Error error) {
  ++counters_.jobs_refused;
  reply.refusal = std::move(error);
  send_to_client(client, std::move(reply));
}

bool SupervisorCore::is_new(ClientId client, SubmitReply& reply, const JobSpec& spec) {
  if (const Result<void> name = check_name(spec.name, "job name", config_.graph.name_bytes_max); !name) {
    refuse(client, reply, name.error());
    return false;
  }
  if (Job* known = jobs_.find(JobSelector{JobId::none(), spec.name}); known != nullptr && !spec.name.empty()) {
    reply.job = known->id;
    reply.identity = known->identity;
    reply.existed = true;
    reply.ours = spec.submitter != 0 && spec.submitter == known->spec.submitter;
    send_to_client(client, std::move(reply));
    follow(*known, client);
    return false;
  }
  if (const Result<void> name = check_new_name(spec.name); !name) {
    refuse(client, reply, name.error());
    return false;
  }
  if (gate_.trouble().has_value()) {
    refuse(client, reply, *gate_.trouble());
    return false;
  }
  const Result<void> owned = check_policy_of(spec);
  if (!owned) refuse(client, reply, owned.error());
  return owned.has_value();
}

void SupervisorCore::accept(ClientId client, SubmitReply& reply, JobSpec spec, SharedGraph& graph,
                            const JobIdentity& identity) {
  const JobId id = jobs_.next();
  reply.job = id;
  reply.identity = identity;
  ++counters_.jobs_accepted;
  send_to_client(client, std::move(reply));
  spec.priority = *scale_of(spec).inside_of_new(spec.priority);  // The priority has been checked.
  Job& job = make_job(std::move(spec), graph, id);
  job.identity = identity;
  progress_.submitted(job, client);
  add_references(job);
  if (!gate_.durable()) return place_sources(job);
  job.waiting_for_disk = true;
  accepting_.add(id);
  if (!graph.written_as.valid()) graph.written_as = id;
  graphs_.join(graph);  // Kept until it is written, whatever becomes of the job.
  being_written_.add(&graph);
  gate_.write(record::JobAccepted{id, job.spec, &job.shape->graph(), clock_.unix_ms(job.submitted), graph.written_as,
                                  job.scale.code(), identity});
}

// The next job of the same graph begins with these durations, so that bands get their whole credit at once.
void SupervisorCore::learn_durations(const Job& job) {
  for (std::size_t i = 0; i < job.templates.size(); ++i)
    if (job.templates[i].runs > 0) job.graph->learned[i] = {job.templates[i].runs, job.templates[i].mean_ns};
}

void SupervisorCore::leave_graph(Job& job) {
  if (job.graph == nullptr) return;
  graphs_.leave(*job.graph);
  job.graph = nullptr;
  job.shape = nullptr;
}

}  // namespace penstock::supervisor
