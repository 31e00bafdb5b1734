#include "tests/support/record_log.hpp"

#include <algorithm>
#include <set>

namespace penstock::supervisor {
namespace {

template <class Element>
void extend(std::vector<Element>& list, const std::vector<Element>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

void RecordLog::write(const Record& record) {
  std::visit([this](const auto& concrete) { apply(concrete); }, record);
}

void RecordLog::apply(const record::JobAccepted& accepted) {
  Entry& entry = jobs_[accepted.job];
  entry.spec = accepted.spec;
  entry.graph_of = accepted.graph_of.valid() ? accepted.graph_of : accepted.job;
  if (entry.graph_of == accepted.job) graphs_[accepted.job] = *accepted.graph;
  entry.submitted_ms = accepted.submitted_ms;
  entry.scale = accepted.scale;
  entry.identity = accepted.identity;
  next_job_ = std::max(next_job_, JobId{accepted.job.value() + 1});
}

void RecordLog::apply(const record::SubtasksEnded& ended) {
  record::SubtasksEnded& all = jobs_[ended.job].ended;
  all.job = ended.job;
  all.counts = ended.counts;
  extend(all.succeeded, ended.succeeded);
  extend(all.cancelled, ended.cancelled);
  extend(all.failures, ended.failures);
  extend(all.outputs, ended.outputs);
  extend(all.made, ended.made);
  std::erase_if(all.checkpoints, [&](const CheckpointPlace& known) {
    const auto is_it = [&](const auto& other) { return other.producer == known.producer; };
    return std::any_of(ended.made.begin(), ended.made.end(), is_it) ||
           std::any_of(ended.checkpoints.begin(), ended.checkpoints.end(), is_it);
  });
  extend(all.checkpoints, ended.checkpoints);
}

void RecordLog::apply(const record::JobChanged& changed) { jobs_[changed.job].changed = changed; }

void RecordLog::apply(const record::SubtaskChanged& changed) { jobs_[changed.job].subtasks[changed.subtask] = changed; }

void RecordLog::apply(const record::JobEnded& over) {
  jobs_[over.job] = Entry{};
  jobs_[over.job].over = over;
}

void RecordLog::apply(const record::OutputsReleased& released) {
  extend(jobs_[released.job].released, released.subtasks);
}

void RecordLog::apply(const record::JobForgotten& forgotten) { jobs_.erase(forgotten.job); }

void RecordLog::apply(const record::GraphForgotten& forgotten) { graphs_.erase(forgotten.brought_by); }

void RecordLog::apply(const record::WorkerJoined& joined) {
  workers_[joined.worker] = joined;
  if (!joined.again) next_worker_ = WorkerId{joined.worker.value() + 1};
}

void RecordLog::apply(const record::Ordered& order) { orders_[order.number] = order; }

void RecordLog::apply(const record::OrderForgotten& forgotten) { orders_.erase(forgotten.number); }

void RecordLog::apply(const record::WriterLost& lost) { lost_writers_.insert(lost.writer); }

void RecordLog::apply(const record::WriterForgotten& forgotten) { lost_writers_.erase(forgotten.writer); }

void RecordLog::apply(const record::WorkerGone& gone) { workers_.erase(gone.worker); }

RecoveredState RecordLog::state() const {
  RecoveredState state;
  state.next_job = next_job_;
  state.next_worker = next_worker_;
  state.policy = policy_;
  for (const auto& [number, order] : orders_) state.orders.push_back(order);
  for (const auto& [key, part] : shared_) state.shared.push_back(part);
  for (const auto& [id, worker] : workers_) state.workers.push_back(worker);
  state.lost_writers.assign(lost_writers_.begin(), lost_writers_.end());
  std::set<JobId> needed;
  for (const auto& [id, entry] : jobs_) {
    RecoveredJob job;
    job.id = id;
    job.spec = entry.spec;
    job.scale = entry.scale;
    job.identity = entry.identity;
    job.submitted_ms = entry.submitted_ms;
    job.released = entry.released;
    if (entry.over.has_value()) {
      job.spec = entry.over->spec;
      job.is_over = true;
      job.everything = entry.over->everything;
      job.checkpoints = entry.over->checkpoints;
      job.unneeded = entry.over->unneeded;
      job.kept_by_order = entry.over->kept_by_order;
      job.scale = entry.over->scale;
      job.identity = entry.over->identity;
      job.keys = entry.over->keys;
      job.submitted_ms = entry.over->submitted_ms;
      job.ended_ms = entry.over->ended_ms;
      if (graphs_.contains(entry.over->graph_of)) {
        job.graph = entry.over->graph_of;
        needed.insert(job.graph);
      }
    } else {
      job.graph = entry.graph_of;
      needed.insert(entry.graph_of);
      job.ended = entry.ended;
      for (const auto& [subtask, change] : entry.subtasks) job.changes.push_back(change);
      if (entry.changed.has_value()) {
        job.spec.priority = entry.changed->priority;
        job.scale = entry.changed->scale;
        if (entry.changed->has_policy) {
          job.spec.policy.weight = entry.changed->weight;
          job.spec.policy.slots_max = entry.changed->slots_max;
          job.position = entry.changed->position;
          job.spec.policy.qos = entry.changed->qos;
          job.spec.policy.queue = entry.changed->queue;
          job.on_hold = entry.changed->on_hold;
          job.pool = entry.changed->pool;
        }
        job.preempted = entry.changed->preempted;
        if (entry.changed->account) job.spec.policy.account = *entry.changed->account;
        if (entry.changed->user_factor) job.spec.policy.user_factor = *entry.changed->user_factor;
        if (entry.changed->time_limit) job.spec.time_limit = *entry.changed->time_limit;
        job.limit_since_ms = entry.changed->limit_since_ms;
        job.cancelling = entry.changed->cancelling;
        job.why = entry.changed->why;
        job.unneeded = entry.changed->unneeded;
        job.kept_by_order = entry.changed->kept_by_order;
      }
    }
    state.jobs.push_back(std::move(job));
  }
  for (const JobId id : needed)
    if (const auto graph = graphs_.find(id); graph != graphs_.end())
      state.graphs.push_back({id, false, {graph->second}});
  return state;
}

}  // namespace penstock::supervisor
