#include "supervisor/store/journal.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "common/protocol/graph_chunks.hpp"
#include "supervisor/store/journal_codec.hpp"

namespace penstock::supervisor {
namespace {

using namespace journal_codec;

constexpr char kOrder = 'a';
constexpr char kLostWriter = 'c';
constexpr char kHead = 'h';
constexpr char kIdentity = 'i';
constexpr char kJob = 'j';
constexpr char kGraph = 'k';  // Behind the jobs: all jobs that need a graph are known when it is read.
constexpr char kShared = 'o';
constexpr char kPolicy = 'p';
constexpr char kWorker = 'w';
constexpr const char* kNextWorker = "wn";
constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;

/// Kinds of entries of a job.
struct Kind {
  static constexpr char kAccepted = 'a';
  static constexpr char kSubtask = 'b';
  static constexpr char kChanged = 'c';
  static constexpr char kEnded = 'e';
  static constexpr char kPlainGraph = 'g';
  static constexpr char kReleased = 'r';
  static constexpr char kOver = 'z';
};

void append_number(std::string& key, std::uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) key += static_cast<char>((number >> (8 * i)) & 0xffU);
}

std::uint64_t read_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = (number << 8U) | static_cast<unsigned char>(c);
  return number;
}

std::string prefix_of(char what, JobId job) {
  std::string key(1, what);
  append_number(key, job.value(), 4);
  return key;
}

std::string job_prefix(JobId job) { return prefix_of(kJob, job); }
std::string graph_prefix(JobId brought_by) { return prefix_of(kGraph, brought_by); }

std::string key_of(JobId job, char kind) { return job_prefix(job) + kind; }

void write_graph(JobId brought_by, const Graph& graph, StorageBatch& batch) {
  const auto total = static_cast<std::uint32_t>(graph.size());
  GraphPacker packer;
  std::uint32_t chunks = 0;
  for (std::uint32_t first = 0; first < total; ++chunks) {
    const std::uint32_t count = chunk_size(graph, first, kChunkBytes);
    std::string key = graph_prefix(brought_by);
    append_number(key, chunks, 4);
    batch.put(std::move(key), encode(graph, GraphPart{first, count}, packer));
    first += count;
  }
  batch.put(graph_prefix(brought_by), encode(GraphHead{brought_by, total, chunks}));
}

void write(const record::JobAccepted& accepted, std::uint64_t, StorageBatch& batch) {
  const JobId graph_of = accepted.graph_of.valid() ? accepted.graph_of : accepted.job;
  if (graph_of == accepted.job) write_graph(graph_of, *accepted.graph, batch);
  const auto total = static_cast<std::uint32_t>(accepted.graph->size());
  batch.put(key_of(accepted.job, Kind::kAccepted),
            encode(Accepted{accepted.job, accepted.spec, total, 0, accepted.submitted_ms, graph_of, accepted.scale,
                            accepted.identity}));
  batch.put(std::string(1, kHead), encode(Head{kFormat, JobId{accepted.job.value() + 1}}));
}

void write(const record::GraphForgotten& forgotten, std::uint64_t, StorageBatch& batch) {
  batch.erase_prefix(graph_prefix(forgotten.brought_by));
}

void write(const record::SubtasksEnded& ended, std::uint64_t number, StorageBatch& batch) {
  std::string key = key_of(ended.job, Kind::kEnded);
  append_number(key, number, 8);
  batch.put(std::move(key), encode(ended));
}

void write(const record::JobChanged& changed, std::uint64_t, StorageBatch& batch) {
  batch.put(key_of(changed.job, Kind::kChanged), encode(changed));
}

void write(const record::SubtaskChanged& changed, std::uint64_t, StorageBatch& batch) {
  std::string key = key_of(changed.job, Kind::kSubtask);
  append_number(key, changed.subtask.value(), 4);
  batch.put(std::move(key), encode(changed));
}

void write(const record::JobEnded& ended, std::uint64_t, StorageBatch& batch) {
  batch.erase_prefix(job_prefix(ended.job));
  batch.put(key_of(ended.job, Kind::kOver), encode(ended));
}

void write(const record::OutputsReleased& released, std::uint64_t number, StorageBatch& batch) {
  std::string key = key_of(released.job, Kind::kReleased);
  append_number(key, number, 8);
  batch.put(std::move(key), encode(released));
}

void write(const record::JobForgotten& forgotten, std::uint64_t, StorageBatch& batch) {
  batch.erase_prefix(job_prefix(forgotten.job));
}

std::string key_of(WorkerId worker) {
  std::string key(1, kWorker);
  append_number(key, worker.value(), 4);
  return key;
}

void write(const record::WorkerJoined& joined, std::uint64_t, StorageBatch& batch) {
  batch.put(key_of(joined.worker), encode(joined));
  if (!joined.again)
    batch.put(kNextWorker, encode(record::WorkerJoined{WorkerId{joined.worker.value() + 1}, {}, {}, false}));
}

void write(const record::WorkerGone& gone, std::uint64_t, StorageBatch& batch) { batch.erase(key_of(gone.worker)); }

std::string key_of(Incarnation lost_writer) {
  std::string key(1, kLostWriter);
  append_number(key, lost_writer.value(), 8);
  return key;
}

void write(const record::WriterLost& lost, std::uint64_t, StorageBatch& batch) {
  batch.put(key_of(lost.writer), encode(lost));
}

void write(const record::WriterForgotten& forgotten, std::uint64_t, StorageBatch& batch) {
  batch.erase(key_of(forgotten.writer));
}

std::string key_of_order(std::uint64_t number) {
  std::string key(1, kOrder);
  append_number(key, number, 8);
  return key;
}

void write(const record::Ordered& order, std::uint64_t, StorageBatch& batch) {
  batch.put(key_of_order(order.number), encode(order));
}

void write(const record::OrderForgotten& forgotten, std::uint64_t, StorageBatch& batch) {
  batch.erase(key_of_order(forgotten.number));
}

// Names have no zero byte: a key tells where each of them ends.
std::string key_of_shared(SharedKind kind, const std::string& name, const std::string& owner, std::uint64_t number) {
  std::string key(1, kShared);
  append_number(key, static_cast<std::uint64_t>(kind), 1);
  key += name;
  key += '\0';
  key += owner;
  key += '\0';
  append_number(key, number, 8);
  return key;
}

void write(const record::SharedKept& part, std::uint64_t, StorageBatch& batch) {
  batch.put(key_of_shared(part.kind, part.name, part.owner, part.number), encode(part));
}

void write(const record::SharedForgotten& part, std::uint64_t, StorageBatch& batch) {
  batch.erase(key_of_shared(part.kind, part.name, part.owner, part.number));
}

void write(const record::PolicyKept& kept, std::uint64_t, StorageBatch& batch) {
  batch.put(std::string(1, kPolicy), encode(kept));
}

template <class Element>
void extend(std::vector<Element>& list, std::vector<Element>&& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// The entries of one job read so far.
struct JobInParts {
  std::optional<Accepted> accepted;
  std::optional<record::JobChanged> changed;
  std::optional<record::JobEnded> over;
  std::map<std::uint64_t, Graph> plain_chunks;  ///< Up to format 2.
  record::SubtasksEnded ended;
  std::map<SubtaskIndex, Incarnation> checkpoints;
  std::string broken;            ///< The first reason why it cannot go on.
  std::uint64_t ended_lost = 0;  ///< Records of ended subtasks that could not be read.
  bool changed_lost = false;
  std::vector<record::SubtaskChanged> changes;
  std::uint64_t changes_lost = 0;
  std::vector<SubtaskRange> released;
};

/// The entries read so far of a graph that is stored apart from its jobs.
struct GraphInParts {
  std::vector<JobId> needed_by;
  std::optional<GraphHead> head;
  std::map<std::uint64_t, Graph> chunks;
  std::string broken;  ///< The first reason why the graph cannot be used.
  bool kept = false;   ///< An intact job goes on with it.
};

class Recovery {
 public:
  explicit Recovery(Damage damage) : damage_(damage) {}

  /// Takes one entry; an error ends the recovery.
  Result<void> take(std::string_view key, std::string_view value);
  Result<void> finish();
  Recovered take_result() { return std::move(result_); }
  const StorageBatch& clean_up() const { return clean_up_; }

 private:
  Result<void> take_head(std::string_view value);
  Result<void> take_worker(std::string_view key, std::string_view value);
  Result<void> take_order(std::string_view key, std::string_view value);
  Result<void> take_shared(std::string_view key, std::string_view value);
  Result<void> take_lost_writer(std::string_view key, std::string_view value);
  Result<void> take_policy(std::string_view key, std::string_view value);
  Result<void> take_of_job(JobInParts& job, std::string_view key, std::string_view value);
  Result<void> take_of_graph(std::string_view key, std::string_view value);
  Result<void> object(std::string_view key, JobId job, const std::string& what, const Error& error);
  Result<void> finish_job(JobId id, JobInParts& job);
  void note_needed_graphs();
  void list_vanished();
  std::string missing_part(JobId id, const JobInParts& job) const;
  static std::string missing_part_of_graph(const GraphInParts& graph);
  JobId recover_graph(JobId id, JobInParts& job);
  JobId put_graph(JobId brought_by, std::map<std::uint64_t, Graph>& chunks, bool with_its_job);

  const Damage damage_;
  Recovered result_;
  std::map<JobId, JobInParts> jobs_;
  std::map<JobId, GraphInParts> graphs_;  ///< By the job that brought it; those that a job needs or may run again.
  bool needs_known_ = false;              ///< All jobs have been read.
  StorageBatch clean_up_;
};

/// Damage: the end of a strict recovery, an entry less for one that salvages.
Result<void> Recovery::object(std::string_view key, JobId job, const std::string& what, const Error& error) {
  if (damage_ == Damage::Refuse)
    return Error{ErrorCode::StorageDamaged, job.valid() ? to_string(job) : "journal", what + " " + error.message,
                 "start once with `--salvage`: every intact job is kept, and losses are listed"};
  clean_up_.erase(std::string{key});
  return {};
}

Result<void> Recovery::take_head(std::string_view value) {
  const Result<Head> head = decode_head(value);
  if (!head) {
    result_.losses.push_back({JobId::none(), "", false, "the head; job numbers go on after the largest that is left"});
    return object(std::string(1, kHead), JobId::none(), "the head", head.error());
  }
  if (head->format > kFormat)
    return Error{ErrorCode::VersionMismatch, "journal",
                 "has format " + std::to_string(head->format) + ", this version reads up to " + std::to_string(kFormat),
                 "start the newer version that has written it"};
  result_.state.next_job = std::max(result_.state.next_job, head->next_job);
  return {};
}

// A worker that is not known any more starts afresh, so a lost entry costs only the work on its worker.
Result<void> Recovery::take_worker(std::string_view key, std::string_view value) {
  Result<record::WorkerJoined> worker = decode_worker(value);
  if (!worker) {
    result_.losses.push_back({JobId::none(), "", false, "a worker, which starts afresh"});
    return object(key, JobId::none(), "a worker", worker.error());
  }
  WorkerId& next = result_.state.next_worker;
  if (key == kNextWorker) {
    next = std::max(next, worker->worker);
  } else {
    next = std::max(next, WorkerId{worker->worker.value() + 1});
    result_.state.workers.push_back(std::move(worker).value());
  }
  return {};
}

// A lost order is only reported; nothing depends on it.
Result<void> Recovery::take_order(std::string_view key, std::string_view value) {
  Result<record::Ordered> order = decode_order(value);
  if (!order) {
    result_.losses.push_back({JobId::none(), "", false, "an order of an operator in the list of orders"});
    return object(key, JobId::none(), "an order of an operator", order.error());
  }
  result_.state.orders.push_back(std::move(order).value());
  return {};
}

// A lost part is missed by the programs that share it: a variable is unset, a semaphore has a free place.
Result<void> Recovery::take_shared(std::string_view key, std::string_view value) {
  Result<record::SharedKept> part = decode_shared(value);
  if (!part) {
    result_.losses.push_back({JobId::none(), "", false, "a part of the objects that programs share"});
    return object(key, JobId::none(), "a shared object", part.error());
  }
  result_.state.shared.push_back(std::move(part).value());
  return {};
}

// The checkpoints of a lost writer stay where they are.
Result<void> Recovery::take_lost_writer(std::string_view key, std::string_view value) {
  const Result<Incarnation> writer = decode_lost_writer(value);
  if (!writer) {
    result_.losses.push_back({JobId::none(), "", false, "a lost worker whose checkpoints may stay on shared storage"});
    return object(key, JobId::none(), "a lost worker", writer.error());
  }
  result_.state.lost_writers.push_back(*writer);
  return {};
}

// Without it accounts begin with no use, and projects with the guarantees of the configuration.
Result<void> Recovery::take_policy(std::string_view key, std::string_view value) {
  Result<record::PolicyKept> kept = decode_policy(value);
  if (!kept) {
    result_.losses.push_back({JobId::none(), "", false, "use of accounts, and quotas that were set"});
    return object(key, JobId::none(), "the policy state", kept.error());
  }
  result_.state.policy = std::move(kept).value();
  return {};
}

Result<void> Recovery::take(std::string_view key, std::string_view value) {
  if (key.size() == 1 && key[0] == kHead) return take_head(value);
  if (key.size() == 1 && key[0] == kIdentity) {
    const Result<JournalIdentity> identity = decode_identity(value);
    if (!identity) return object(key, JobId::none(), "its identity", identity.error());
    result_.identity = *identity;
    return {};
  }
  if (!key.empty() && key[0] == kWorker) return take_worker(key, value);
  if (!key.empty() && key[0] == kOrder) return take_order(key, value);
  if (!key.empty() && key[0] == kShared) return take_shared(key, value);
  if (!key.empty() && key[0] == kLostWriter) return take_lost_writer(key, value);
  if (key.size() == 1 && key[0] == kPolicy) return take_policy(key, value);
  constexpr std::size_t kKindAt = 5;
  if (key.size() >= kKindAt && key[0] == kGraph) return take_of_graph(key, value);
  if (key.size() <= kKindAt || key[0] != kJob) {
    result_.losses.push_back({JobId::none(), "", false, "an entry that no version has written"});
    return object(key, JobId::none(), "an entry", Error{ErrorCode::StorageDamaged, "", "has an unknown key", {}});
  }
  const JobId id{static_cast<std::uint32_t>(read_number(key.substr(1, 4)))};
  return take_of_job(jobs_[id], key, value);
}

Result<void> Recovery::take_of_job(JobInParts& job, std::string_view key, std::string_view value) {
  const JobId id{static_cast<std::uint32_t>(read_number(key.substr(1, 4)))};
  const auto lose = [&](const std::string& what, const Error& error) {
    if (job.broken.empty()) job.broken = what + " " + error.message;
    return object(key, id, what, error);
  };
  switch (key[5]) {
    case Kind::kAccepted: {
      Result<Accepted> accepted = decode_accepted(value);
      if (!accepted) return lose("the record of its acceptance", accepted.error());
      job.accepted = std::move(accepted).value();
      return {};
    }
    case Kind::kPlainGraph: {
      Result<Graph> chunk = decode_plain_chunk(value);
      if (!chunk) return lose("a part of its graph", chunk.error());
      job.plain_chunks[read_number(key.substr(6))] = std::move(chunk).value();
      return {};
    }
    case Kind::kOver: {
      Result<record::JobEnded> over = decode_job_ended(value);
      if (!over) return lose("the record of its end", over.error());
      job.over = std::move(over).value();
      return {};
    }
    case Kind::kChanged: {
      Result<record::JobChanged> changed = decode_changed(value);
      job.changed_lost = !changed.has_value();
      if (!changed) return object(key, id, "its last change", changed.error());
      job.changed = std::move(changed).value();
      return {};
    }
    case Kind::kSubtask: {
      Result<record::SubtaskChanged> change = decode_subtask_changed(value);
      if (!change) {
        ++job.changes_lost;
        return object(key, id, "the changes of a subtask", change.error());
      }
      job.changes.push_back(std::move(change).value());
      return {};
    }
    case Kind::kEnded: {
      result_.next_number = std::max(result_.next_number, read_number(key.substr(6)) + 1);
      Result<record::SubtasksEnded> ended = decode_subtasks_ended(value);
      if (!ended) {
        ++job.ended_lost;
        return object(key, id, "a record of ended subtasks", ended.error());
      }
      job.ended.counts = ended->counts;
      extend(job.ended.succeeded, std::move(ended->succeeded));
      extend(job.ended.cancelled, std::move(ended->cancelled));
      extend(job.ended.failures, std::move(ended->failures));
      extend(job.ended.outputs, std::move(ended->outputs));
      for (const MadeOutput& made : ended->made) job.checkpoints.erase(made.producer);
      for (const CheckpointPlace& place : ended->checkpoints) job.checkpoints[place.producer] = place.writer;
      extend(job.ended.made, std::move(ended->made));
      return {};
    }
    case Kind::kReleased: {
      result_.next_number = std::max(result_.next_number, read_number(key.substr(6)) + 1);
      Result<record::OutputsReleased> released = decode_outputs_released(value);
      // Outputs without this record are kept until the whole job is released.
      if (!released) return object(key, id, "a record of released outputs", released.error());
      extend(job.released, std::move(released->subtasks));
      return {};
    }
    default: return object(key, id, "an entry", Error{ErrorCode::StorageDamaged, "", "is of an unknown kind", {}});
  }
}

void Recovery::note_needed_graphs() {
  needs_known_ = true;
  for (const auto& [id, job] : jobs_)
    if (job.over.has_value() && job.over->graph_of.valid())
      graphs_[job.over->graph_of];
    else if (job.accepted.has_value() && !job.over.has_value() && job.accepted->graph_of.valid())
      graphs_[job.accepted->graph_of].needed_by.push_back(id);
}

// Graphs of jobs that succeeded are kept for being submitted again as long as their supervisor process runs. Recovery
// does not even read them, so damage in them costs nothing; nor does damage in one that only ended jobs would need.
Result<void> Recovery::take_of_graph(std::string_view key, std::string_view value) {
  if (!needs_known_) note_needed_graphs();
  const JobId brought_by{static_cast<std::uint32_t>(read_number(key.substr(1, 4)))};
  result_.state.next_job = std::max(result_.state.next_job, JobId{brought_by.value() + 1});
  const auto found = graphs_.find(brought_by);
  if (found == graphs_.end()) {
    clean_up_.erase(std::string{key});
    return {};
  }
  GraphInParts& graph = found->second;
  const auto lose = [&](const std::string& what, const Error& error) {
    if (graph.broken.empty()) graph.broken = what + " " + error.message;
    if (graph.needed_by.empty()) return Result<void>{};
    return object(key, graph.needed_by.front(), what, error);
  };
  if (key.size() == graph_prefix(brought_by).size()) {
    Result<GraphHead> head = decode_graph_head(value);
    if (!head) return lose("the head of its graph", head.error());
    graph.head = *head;
    return {};
  }
  Result<Graph> chunk = decode_chunk(value);
  if (!chunk) return lose("a part of its graph", chunk.error());
  graph.chunks[read_number(key.substr(5))] = std::move(chunk).value();
  return {};
}

std::string Recovery::missing_part_of_graph(const GraphInParts& graph) {
  if (!graph.broken.empty()) return graph.broken;
  if (!graph.head.has_value()) return "the head of its graph is missing";
  if (graph.chunks.size() != graph.head->chunks) return "a part of its graph is missing";
  if (graph.kept) return "";  // Looked at already; another job has the parts.
  std::uint64_t subtasks = 0;
  for (const auto& [number, chunk] : graph.chunks) subtasks += chunk.size();
  return subtasks == graph.head->subtasks ? "" : "its graph is incomplete";
}

std::string Recovery::missing_part(JobId id, const JobInParts& job) const {
  if (!job.broken.empty()) return job.broken;
  if (!job.accepted.has_value()) return "the record of its acceptance is missing";
  const JobId graph_of = job.accepted->graph_of;
  std::uint64_t subtasks = 0;
  if (graph_of.valid()) {
    const GraphInParts& graph = graphs_.at(graph_of);
    if (const std::string missing = missing_part_of_graph(graph); !missing.empty())
      return missing + (graph_of == id ? "" : ", which " + to_string(graph_of) + " has brought");
    subtasks = graph.head->subtasks;
  } else {
    if (job.plain_chunks.size() != job.accepted->chunks) return "a part of its graph is missing";
    for (const auto& [number, chunk] : job.plain_chunks) subtasks += chunk.size();
  }
  if (subtasks != job.accepted->subtasks) return "its graph is incomplete";
  const auto outside = [&](const SubtaskRange& range) { return range.last.value() >= subtasks; };
  bool fits = std::none_of(job.ended.succeeded.begin(), job.ended.succeeded.end(), outside) &&
              std::none_of(job.released.begin(), job.released.end(), outside) &&
              std::none_of(job.ended.cancelled.begin(), job.ended.cancelled.end(), outside);
  for (const MadeOutput& made : job.ended.made) fits = fits && made.producer.value() < subtasks;
  for (const auto& [producer, writer] : job.checkpoints) fits = fits && producer.value() < subtasks;
  for (const SubtaskFailure& failure : job.ended.failures) fits = fits && failure.subtask.value() < subtasks;
  for (const record::SubtaskChanged& change : job.changes) fits = fits && change.subtask.value() < subtasks;
  return fits ? "" : "its records name subtasks that its graph does not have";
}

JobId Recovery::put_graph(JobId brought_by, std::map<std::uint64_t, Graph>& chunks, bool with_its_job) {
  RecoveredGraph& graph = result_.state.graphs.emplace_back(RecoveredGraph{brought_by, with_its_job, {}});
  for (auto& [number, chunk] : chunks) graph.chunks.push_back(std::move(chunk));
  return brought_by;
}

/// Puts the graph of an intact job into the state, unless another one has; says under which number it is there. None:
/// an ended job has none with which it could run again.
JobId Recovery::recover_graph(JobId id, JobInParts& job) {
  const JobId graph_of = job.over.has_value() ? job.over->graph_of : job.accepted->graph_of;
  if (!graph_of.valid()) return job.over.has_value() ? graph_of : put_graph(id, job.plain_chunks, true);
  GraphInParts& graph = graphs_.at(graph_of);
  if (job.over.has_value() && !missing_part_of_graph(graph).empty()) return JobId::none();
  return std::exchange(graph.kept, true) ? graph_of : put_graph(graph_of, graph.chunks, false);
}

void recover_end(record::JobEnded over, RecoveredJob& job) {
  job.spec = std::move(over.spec);
  job.is_over = true;
  job.everything = std::move(over.everything);
  job.submitted_ms = over.submitted_ms;
  job.ended_ms = over.ended_ms;
  job.checkpoints = std::move(over.checkpoints);
  job.unneeded = over.unneeded;
  job.kept_by_order = over.kept_by_order;
  job.scale = over.scale;
  job.identity = over.identity;
  job.keys = std::move(over.keys);
}

Result<void> Recovery::finish_job(JobId id, JobInParts& job) {
  result_.state.next_job = std::max(result_.state.next_job, JobId{id.value() + 1});
  RecoveredJob recovered;
  recovered.id = id;
  if (job.over.has_value()) {
    // All other entries of the job are from before its end, or name outputs that were released since.
    recovered.graph = recover_graph(id, job);
    recover_end(std::move(*job.over), recovered);
    recovered.released = std::move(job.released);
    result_.state.jobs.push_back(std::move(recovered));
    return {};
  }
  const std::string name = job.accepted.has_value() ? job.accepted->spec.name : "";
  if (const std::string missing = missing_part(id, job); !missing.empty()) {
    result_.losses.push_back({id, name, true, missing});
    PENSTOCK_TRY(object(job_prefix(id), id, missing, Error{}));
    clean_up_.erase_prefix(job_prefix(id));
    return {};
  }
  if (job.ended_lost > 0)
    result_.losses.push_back(
        {id, name, false, std::to_string(job.ended_lost) + " records of ended subtasks; those subtasks run again"});
  if (job.changed_lost)
    result_.losses.push_back({id, name, false, "its last change of priority, or that it was being cancelled"});
  if (job.changes_lost > 0)
    result_.losses.push_back({id, name, false,
                              "failed attempts, priorities and cancels of " + std::to_string(job.changes_lost) +
                                  " subtasks; they begin anew"});
  recovered.spec = std::move(job.accepted->spec);
  recovered.scale = job.accepted->scale;
  recovered.identity = job.accepted->identity;
  if (job.changed.has_value()) {
    recovered.spec.priority = job.changed->priority;
    recovered.scale = job.changed->scale;
    if (job.changed->has_policy) {
      recovered.spec.policy.weight = job.changed->weight;
      recovered.spec.policy.slots_max = job.changed->slots_max;
      recovered.position = job.changed->position;
      recovered.spec.policy.qos = job.changed->qos;
      recovered.spec.policy.queue = job.changed->queue;
      recovered.on_hold = job.changed->on_hold;
      recovered.pool = std::move(job.changed->pool);
    }
    recovered.preempted = job.changed->preempted;
    if (job.changed->account.has_value()) recovered.spec.policy.account = *job.changed->account;
    if (job.changed->time_limit.has_value()) recovered.spec.time_limit = *job.changed->time_limit;
    if (job.changed->user_factor.has_value()) recovered.spec.policy.user_factor = *job.changed->user_factor;
    recovered.cancelling = job.changed->cancelling;
    recovered.why = std::move(job.changed->why);
    recovered.unneeded = job.changed->unneeded;
    recovered.kept_by_order = job.changed->kept_by_order;
    recovered.limit_since_ms = job.changed->limit_since_ms;
  }
  recovered.graph = recover_graph(id, job);
  recovered.submitted_ms = job.accepted->submitted_ms;
  recovered.changes = std::move(job.changes);
  recovered.released = std::move(job.released);
  recovered.ended = std::move(job.ended);
  recovered.ended.job = id;
  for (const auto& [producer, writer] : job.checkpoints) recovered.ended.checkpoints.push_back({producer, writer});
  result_.state.jobs.push_back(std::move(recovered));
  return {};
}

/// Lists the jobs that had all their entries in an unreadable part of a file: only their numbers are missing. Ended
/// jobs are forgotten in the order of their ends, so no job submitted after the oldest remembered end has been
/// forgotten.
void Recovery::list_vanished() {
  std::int64_t oldest_end_ms = INT64_MAX;
  for (const auto& [id, job] : jobs_)
    if (job.over.has_value() && job.over->ended_ms > 0) oldest_end_ms = std::min(oldest_end_ms, job.over->ended_ms);
  std::int64_t submitted_ms = 0;  // Of the job before: a job with a higher number came later.
  JobId expected{1};
  const auto list_up_to = [&](JobId next) {
    if (!(expected < next)) return;
    const JobId last{next.value() - 1};
    std::string what = expected == last ? "nothing is left of it" : "nothing is left of them";
    if (submitted_ms <= oldest_end_ms) what += ", unless forgotten after the end";
    result_.losses.push_back({expected, "", true, std::move(what), expected == last ? JobId::none() : last});
  };
  for (const auto& [id, job] : jobs_) {
    list_up_to(id);
    expected = JobId{id.value() + 1};
    if (job.over.has_value()) submitted_ms = std::max(submitted_ms, job.over->submitted_ms);
    if (job.accepted.has_value()) submitted_ms = std::max(submitted_ms, job.accepted->submitted_ms);
  }
  list_up_to(result_.state.next_job);
}

Result<void> Recovery::finish() {
  if (!needs_known_) note_needed_graphs();
  for (auto& [id, job] : jobs_) PENSTOCK_TRY(finish_job(id, job));
  for (const auto& [brought_by, graph] : graphs_)
    if (!graph.kept) clean_up_.erase_prefix(graph_prefix(brought_by));
  if (damage_ == Damage::Salvage) list_vanished();
  return {};
}

}  // namespace

std::vector<std::string> doubled_keys() { return {std::string(1, kHead), std::string(1, kIdentity)}; }

Headline read_headline(const std::map<std::string, std::string, std::less<>>& doubled) {
  Headline headline;
  if (const auto found = doubled.find(std::string_view{&kHead, 1}); found != doubled.end())
    if (const Result<Head> head = decode_head(found->second)) headline.next_job = head->next_job;
  if (const auto found = doubled.find(std::string_view{&kIdentity, 1}); found != doubled.end())
    if (const Result<JournalIdentity> identity = decode_identity(found->second)) headline.identity = *identity;
  return headline;
}

void write_record(const Record& record, std::uint64_t number, StorageBatch& batch) {
  std::visit([&](const auto& concrete) { write(concrete, number, batch); }, record);
}

std::string to_string(const JournalLoss& loss) {
  if (!loss.job.valid()) return "lost: " + loss.what;
  if (loss.last.valid()) return to_string(loss.job) + " to " + to_string(loss.last) + " are lost: " + loss.what;
  const std::string job = to_string(loss.job) + (loss.name.empty() ? "" : " '" + loss.name + "'");
  return loss.whole_job ? job + " is lost: " + loss.what : job + " goes on without " + loss.what;
}

void renew_branch(JournalIdentity& identity, std::uint64_t entropy, std::int64_t unix_s) {
  const std::uint64_t drawn = mix_bits(mix_bits(entropy) + identity.branch + 1);
  identity.branch = drawn == 0 || drawn == identity.branch ? drawn + 1 : drawn;
  identity.life = std::max(identity.life, static_cast<std::uint64_t>(std::clamp<std::int64_t>(unix_s, 0, UINT32_MAX)));
}

void identify_jobs(RecoveredState& state, const JournalIdentity& identity) {
  for (RecoveredJob& job : state.jobs) {
    if (job.identity.valid()) continue;
    const std::uint64_t seed = mix_bits(identity.state) + job.id.value();
    job.identity.high = mix_bits(seed) ^ static_cast<std::uint64_t>(job.submitted_ms);
    job.identity.low = mix_bits(job.identity.high + seed) | 1U;
  }
}

Result<JournalIdentity> begin_life(Storage& storage, const Recovered& recovered, std::uint64_t entropy) {
  JournalIdentity identity = recovered.identity;
  if (identity.life == 0) identity.state = entropy;
  if (identity.branch == 0) renew_branch(identity, entropy, 0);
  ++identity.life;
  StorageBatch batch;
  // An older version must not go on from the entries that this one is about to write.
  batch.put(std::string(1, kHead), encode(Head{kFormat, recovered.state.next_job}));
  batch.put(std::string(1, kIdentity), encode(identity));
  PENSTOCK_TRY(storage.commit(batch, Sync::Yes));
  return identity;
}

Result<Recovered> recover(Storage& storage, Damage damage) {
  Recovery recovery{damage};
  Result<void> taken;
  const Result<void> scanned = storage.scan({}, [&](std::string_view key, std::string_view value) {
    taken = recovery.take(key, value);
    return taken.has_value();
  });
  if (!scanned) return scanned.error();
  if (!taken) return taken.error();
  PENSTOCK_TRY(recovery.finish());
  if (!recovery.clean_up().empty()) PENSTOCK_TRY(storage.commit(recovery.clean_up(), Sync::Yes));
  return recovery.take_result();
}

}  // namespace penstock::supervisor
