#include "supervisor/store/journal.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "common/protocol/graph_chunks.hpp"
#include "supervisor/store/journal_codec.hpp"

namespace penstock::supervisor {
namespace {

using namespace journal_codec;

constexpr char kOrder = 'a';
constexpr char kHead = 'h';
constexpr char kIdentity = 'i';
constexpr char kJob = 'j';
constexpr char kWorker = 'w';
constexpr const char* kNextWorker = "wn";
constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;

/// Kinds of entries of a job.
struct Kind {
  static constexpr char kAccepted = 'a';
  static constexpr char kSubtask = 'b';
  static constexpr char kChanged = 'c';
  static constexpr char kEnded = 'e';
  static constexpr char kGraph = 'g';
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

std::string job_prefix(JobId job) {
  std::string key(1, kJob);
  append_number(key, job.value(), 4);
  return key;
}

std::string key_of(JobId job, char kind) { return job_prefix(job) + kind; }

void write(const record::JobAccepted& accepted, std::uint64_t, StorageBatch& batch) {
  const Graph& graph = *accepted.graph;
  const auto total = static_cast<std::uint32_t>(graph.size());
  std::uint32_t chunks = 0;
  for (std::uint32_t first = 0; first < total; ++chunks) {
    const std::uint32_t count = chunk_size(graph, first, kChunkBytes);
    std::string key = key_of(accepted.job, Kind::kGraph);
    append_number(key, chunks, 4);
    // Most graphs are one chunk; that one is not copied before it is encoded.
    batch.put(std::move(key), count == total ? encode(graph) : encode(chunk_of(graph, first, count)));
    first += count;
  }
  batch.put(key_of(accepted.job, Kind::kAccepted),
            encode(Accepted{accepted.job, accepted.spec, total, chunks, accepted.submitted_ms}));
  batch.put(std::string(1, kHead), encode(Head{kFormat, JobId{accepted.job.value() + 1}}));
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
  batch.put(kNextWorker, encode(record::WorkerJoined{WorkerId{joined.worker.value() + 1}, {}, {}}));
}

void write(const record::WorkerGone& gone, std::uint64_t, StorageBatch& batch) { batch.erase(key_of(gone.worker)); }

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

template <class Element>
void extend(std::vector<Element>& list, std::vector<Element>&& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// What has been read of one job so far.
struct JobInParts {
  std::optional<Accepted> accepted;
  std::optional<record::JobChanged> changed;
  std::optional<record::JobEnded> over;
  std::map<std::uint64_t, Graph> chunks;
  record::SubtasksEnded ended;
  std::string broken;            ///< The first reason why it cannot go on.
  std::uint64_t ended_lost = 0;  ///< Records of ended subtasks that could not be read.
  bool changed_lost = false;
  std::vector<record::SubtaskChanged> changes;
  std::uint64_t changes_lost = 0;
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
  Result<void> take_of_job(JobInParts& job, std::string_view key, std::string_view value);
  Result<void> object(std::string_view key, JobId job, const std::string& what, const Error& error);
  Result<void> finish_job(JobId id, JobInParts& job);
  static std::string missing_part(const JobInParts& job);

  const Damage damage_;
  Recovered result_;
  std::map<JobId, JobInParts> jobs_;
  StorageBatch clean_up_;
};

/// Damage: the end of a strict recovery, an entry less for one that salvages.
Result<void> Recovery::object(std::string_view key, JobId job, const std::string& what, const Error& error) {
  if (damage_ == Damage::Refuse)
    return Error{ErrorCode::StorageDamaged, job.valid() ? to_string(job) : "journal", what + " " + error.message,
                 "start once with `--salvage`: every intact job is kept, and what is lost is listed"};
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

// A worker that is not known any more starts afresh, so one that is lost costs only what it holds.
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

// It is only told of; nothing hangs on it.
Result<void> Recovery::take_order(std::string_view key, std::string_view value) {
  Result<record::Ordered> order = decode_order(value);
  if (!order) {
    result_.losses.push_back({JobId::none(), "", false, "an order of an operator in the list of orders"});
    return object(key, JobId::none(), "an order of an operator", order.error());
  }
  result_.state.orders.push_back(std::move(order).value());
  return {};
}

Result<void> Recovery::take(std::string_view key, std::string_view value) {
  if (key.size() == 1 && key[0] == kHead) return take_head(value);
  if (key.size() == 1 && key[0] == kIdentity) {
    const Result<Identity> identity = decode_identity(value);
    if (!identity) return object(key, JobId::none(), "its identity", identity.error());
    result_.identity = {identity->state, identity->life};
    return {};
  }
  if (!key.empty() && key[0] == kWorker) return take_worker(key, value);
  if (!key.empty() && key[0] == kOrder) return take_order(key, value);
  constexpr std::size_t kKindAt = 5;
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
    case Kind::kGraph: {
      Result<Graph> chunk = decode_chunk(value);
      if (!chunk) return lose("a part of its graph", chunk.error());
      job.chunks[read_number(key.substr(6))] = std::move(chunk).value();
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
        return object(key, id, "what has become of a subtask", change.error());
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
      extend(job.ended.made, std::move(ended->made));
      return {};
    }
    default: return object(key, id, "an entry", Error{ErrorCode::StorageDamaged, "", "is of an unknown kind", {}});
  }
}

std::string Recovery::missing_part(const JobInParts& job) {
  if (!job.broken.empty()) return job.broken;
  if (!job.accepted.has_value()) return "the record of its acceptance is missing";
  if (job.chunks.size() != job.accepted->chunks) return "a part of its graph is missing";
  std::size_t subtasks = 0;
  for (const auto& [number, chunk] : job.chunks) subtasks += chunk.size();
  if (subtasks != job.accepted->subtasks) return "its graph is incomplete";
  const auto outside = [&](const SubtaskRange& range) { return range.last.value() >= subtasks; };
  bool fits = std::none_of(job.ended.succeeded.begin(), job.ended.succeeded.end(), outside) &&
              std::none_of(job.ended.cancelled.begin(), job.ended.cancelled.end(), outside);
  for (const MadeOutput& made : job.ended.made) fits = fits && made.producer.value() < subtasks;
  for (const SubtaskFailure& failure : job.ended.failures) fits = fits && failure.subtask.value() < subtasks;
  for (const record::SubtaskChanged& change : job.changes) fits = fits && change.subtask.value() < subtasks;
  return fits ? "" : "its records name subtasks that its graph does not have";
}

Result<void> Recovery::finish_job(JobId id, JobInParts& job) {
  result_.state.next_job = std::max(result_.state.next_job, JobId{id.value() + 1});
  RecoveredJob recovered;
  recovered.id = id;
  if (job.over.has_value()) {
    // Whatever else is left of it is from before its end.
    recovered.spec = std::move(job.over->spec);
    recovered.is_over = true;
    recovered.everything = std::move(job.over->everything);
    recovered.submitted_ms = job.over->submitted_ms;
    recovered.ended_ms = job.over->ended_ms;
    result_.state.jobs.push_back(std::move(recovered));
    return {};
  }
  const std::string name = job.accepted.has_value() ? job.accepted->spec.name : "";
  if (const std::string missing = missing_part(job); !missing.empty()) {
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
  if (job.changed.has_value()) {
    recovered.spec.priority = job.changed->priority;
    if (job.changed->has_policy) {
      recovered.spec.policy.weight = job.changed->weight;
      recovered.spec.policy.slots_max = job.changed->slots_max;
    }
    recovered.cancelling = job.changed->cancelling;
    recovered.why = std::move(job.changed->why);
  }
  for (auto& [number, chunk] : job.chunks) recovered.chunks.push_back(std::move(chunk));
  recovered.submitted_ms = job.accepted->submitted_ms;
  recovered.changes = std::move(job.changes);
  recovered.ended = std::move(job.ended);
  recovered.ended.job = id;
  result_.state.jobs.push_back(std::move(recovered));
  return {};
}

Result<void> Recovery::finish() {
  for (auto& [id, job] : jobs_) PENSTOCK_TRY(finish_job(id, job));
  return {};
}

}  // namespace

void write_record(const Record& record, std::uint64_t number, StorageBatch& batch) {
  std::visit([&](const auto& concrete) { write(concrete, number, batch); }, record);
}

std::string to_string(const JournalLoss& loss) {
  if (!loss.job.valid()) return "lost: " + loss.what;
  const std::string job = to_string(loss.job) + (loss.name.empty() ? "" : " '" + loss.name + "'");
  return loss.whole_job ? job + " is lost: " + loss.what : job + " goes on without " + loss.what;
}

Result<JournalIdentity> begin_life(Storage& storage, const Recovered& recovered, std::uint64_t fresh_state) {
  const JournalIdentity& before = recovered.identity;
  JournalIdentity identity{before.life == 0 ? fresh_state : before.state, before.life + 1};
  StorageBatch batch;
  // An older version must not go on from what this one is about to write.
  batch.put(std::string(1, kHead), encode(Head{kFormat, recovered.state.next_job}));
  batch.put(std::string(1, kIdentity), encode(Identity{identity.state, identity.life}));
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
