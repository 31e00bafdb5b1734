#include "supervisor/store/journal_codec.hpp"

#include <cstring>

#include "common/wire/codec_parts.hpp"
#include "schema/journal.capnp.h"

namespace penstock::supervisor::journal_codec {
namespace {

constexpr std::size_t kChecksumBytes = 8;
constexpr std::uint32_t kChunkSubtasksMax = 16U << 20U;

std::string sealed(std::vector<std::uint64_t> words) {
  const FramePayload payload{std::move(words)};
  const std::uint64_t hash = payload.hash();
  std::string value(kChecksumBytes + payload.bytes().size(), '\0');
  std::memcpy(value.data(), &hash, kChecksumBytes);
  std::memcpy(value.data() + kChecksumBytes, payload.bytes().data(), payload.bytes().size());
  return value;
}

Error damaged(std::string message) { return {ErrorCode::StorageDamaged, "record", std::move(message), {}}; }

/// Checks the checksum, then parses the bytes behind it.
template <class Root, class Value, class Read>
Result<Value> unseal(std::string_view value, Read read) {
  if (value.size() < kChecksumBytes || value.size() % 8 != 0) return damaged("is cut off");
  std::vector<std::uint64_t> words((value.size() - kChecksumBytes) / 8);  // A copy: the parser wants it aligned.
  if (!words.empty()) std::memcpy(words.data(), value.data() + kChecksumBytes, words.size() * 8);
  const FramePayload payload{std::move(words)};
  std::uint64_t hash = 0;
  std::memcpy(&hash, value.data(), kChecksumBytes);
  if (hash != payload.hash()) return damaged("fails its checksum");
  Result<Value> parsed = wire::parse<Root, Value>(payload.bytes(), read);
  if (!parsed) return damaged(parsed.error().message);
  return parsed;
}

void write_checkpoints(std::span<const CheckpointPlace> from, schema::EndedSubtasks::Builder out) {
  const auto count = static_cast<unsigned>(from.size());
  if (count == 0) return;
  auto producers = out.initCheckpointProducers(count);
  auto writers = out.initCheckpointWriters(count);
  for (unsigned i = 0; i < count; ++i) {
    producers.set(i, from[i].producer.value());
    writers.set(i, from[i].writer.value());
  }
}

void write_ended(const record::SubtasksEnded& from, schema::EndedSubtasks::Builder out) {
  wire::write_counts(from.counts, out.initCounts());
  wire::write_ranges(from.succeeded, out.initSucceeded(static_cast<unsigned>(from.succeeded.size() * 2)));
  wire::write_ranges(from.cancelled, out.initCancelled(static_cast<unsigned>(from.cancelled.size() * 2)));
  wire::write_failures(from.failures, out.initFailures(static_cast<unsigned>(from.failures.size())));
  wire::write_outputs(from.outputs, out.initOutputs(static_cast<unsigned>(from.outputs.size())));
  write_checkpoints(from.checkpoints, out);
  const auto made = static_cast<unsigned>(from.made.size());
  if (made == 0) return;
  auto producers = out.initMadeProducers(made);
  auto bytes = out.initMadeBytes(made);
  bool first_only = true;
  for (unsigned i = 0; i < made; ++i) {
    producers.set(i, from.made[i].producer.value());
    bytes.set(i, from.made[i].bytes);
    first_only = first_only && from.made[i].output == 0;
  }
  if (first_only) return;
  auto outputs = out.initMadeOutputs(made);
  for (unsigned i = 0; i < made; ++i) outputs.set(i, from.made[i].output);
}

record::SubtasksEnded read_ended(schema::EndedSubtasks::Reader in) {
  record::SubtasksEnded ended;
  ended.counts = wire::read_counts(in.getCounts());
  ended.succeeded = wire::read_ranges(in.getSucceeded());
  ended.cancelled = wire::read_ranges(in.getCancelled());
  ended.failures = wire::read_failures(in.getFailures());
  ended.outputs = wire::read_outputs(in.getOutputs());
  const auto producers = in.getMadeProducers();
  const auto outputs = in.getMadeOutputs();
  const auto bytes = in.getMadeBytes();
  if (bytes.size() != producers.size() || (outputs.size() != 0 && outputs.size() != producers.size()))
    wire::refuse("made");
  for (unsigned i = 0; i < producers.size(); ++i)
    ended.made.push_back({SubtaskIndex{producers[i]}, outputs.size() == 0 ? std::uint16_t{0} : outputs[i], bytes[i]});
  const auto kept = in.getCheckpointProducers();
  const auto writers = in.getCheckpointWriters();
  if (writers.size() != kept.size()) wire::refuse("checkpoints");
  for (unsigned i = 0; i < kept.size(); ++i)
    ended.checkpoints.push_back({SubtaskIndex{kept[i]}, Incarnation{writers[i]}});
  return ended;
}

std::size_t size_of(const record::SubtasksEnded& ended) {
  std::size_t bytes = 256 + (ended.succeeded.size() + ended.cancelled.size()) * 8 + ended.made.size() * 14 +
                      ended.checkpoints.size() * 12;
  for (const SubtaskFailure& failure : ended.failures)
    bytes += 256 + failure.last.message.size() + failure.last.output_tail.size() + failure.last.detail.size();
  for (const OutputLocation& output : ended.outputs) bytes += 40 + output.data_address.size();
  return bytes;
}

record::SubtasksEnded ended_of(const JobProgress& everything, const std::vector<CheckpointPlace>& checkpoints) {
  return {everything.job,
          everything.counts,
          everything.succeeded,
          everything.cancelled,
          everything.failures,
          everything.outputs,
          {},
          checkpoints};
}

}  // namespace

std::string encode(const Head& head) {
  return sealed(wire::build_words<schema::JournalHead>(64, [&](schema::JournalHead::Builder out) {
    out.setFormat(head.format);
    out.setNextJob(head.next_job.value());
  }));
}

std::string encode(const JournalIdentity& identity) {
  return sealed(wire::build_words<schema::JournalIdentity>(64, [&](schema::JournalIdentity::Builder out) {
    out.setState(identity.state);
    out.setLife(identity.life);
    out.setBranch(identity.branch);
  }));
}

std::string encode(const record::WorkerJoined& worker) {
  return sealed(
      wire::build_words<schema::WorkerRecord>(64 + worker.name.size(), [&](schema::WorkerRecord::Builder out) {
        out.setWorker(worker.worker.value());
        out.setIncarnation(worker.incarnation.value());
        out.setName(wire::text(worker.name));
        out.setSharedStorage(worker.shared_storage);
        if (worker.drain) out.setDrain(*worker.drain ? 2 : 1);
      }));
}

std::string encode(const Accepted& accepted) {
  const std::size_t bytes = 256 + accepted.spec.name.size() + accepted.spec.owner.size();
  return sealed(wire::build_words<schema::JobAcceptedRecord>(bytes, [&](schema::JobAcceptedRecord::Builder out) {
    out.setJob(accepted.job.value());
    wire::write_spec(accepted.spec, out.initSpec());
    out.setSubtasks(accepted.subtasks);
    out.setChunks(accepted.chunks);
    out.setSubmittedMs(accepted.submitted_ms);
    out.setGraphOf(accepted.graph_of.valid() ? accepted.graph_of.value() : 0);
    out.setScale(accepted.scale);
    if (accepted.identity.valid()) wire::write_identity(accepted.identity, out.initIdentity());
  }));
}

std::string encode(const GraphHead& head) {
  return sealed(wire::build_words<schema::GraphRecord>(64, [&](schema::GraphRecord::Builder out) {
    out.setBroughtBy(head.brought_by.value());
    out.setSubtasks(head.subtasks);
    out.setChunks(head.chunks);
  }));
}

std::string encode(const Graph& graph, GraphPart part, GraphPacker& packer) {
  const GraphPacker::Packed packed = packer.pack(graph, part.first, part.count);
  Graph bare;
  if (part.first == 0) {
    bare.templates = graph.templates;
    bare.wanted = graph.wanted;
  }
  return sealed(wire::build_words<schema::GraphChunk>(
      packed.bytes.size() + wire::size_of(bare) + 128, [&](schema::GraphChunk::Builder out) {
        out.setFirst(part.first);
        out.setSubtasks(part.count);
        if (!bare.templates.empty() || !bare.wanted.empty()) wire::write_graph(bare, out.initBare());
        out.setPackedBytes(packed.raw_bytes);
        out.setPacked({reinterpret_cast<const capnp::byte*>(packed.bytes.data()), packed.bytes.size()});
      }));
}

std::string encode_plain(const Graph& chunk) { return sealed(encode_graph(chunk)); }

std::string encode(const record::SubtasksEnded& ended) {
  using Root = schema::SubtasksEndedRecord;
  return sealed(wire::build_words<Root>(size_of(ended), [&](Root::Builder out) {
    out.setJob(ended.job.value());
    write_ended(ended, out.initEnded());
  }));
}

std::string encode(const record::JobChanged& changed) {
  using Root = schema::JobChangedRecord;
  return sealed(wire::build_words<Root>(256 + changed.why.message.size() + changed.qos.size() + changed.queue.size() +
                                            changed.pool.size() +
                                            (changed.account.has_value() ? changed.account->size() : 0),
                                        [&](Root::Builder out) {
                                          out.setJob(changed.job.value());
                                          out.setPriority(changed.priority);
                                          out.setCancelling(changed.cancelling);
                                          wire::write_error(changed.why, out.initWhy());
                                          out.setHasPolicy(changed.has_policy);
                                          out.setWeight(changed.weight);
                                          out.setSlotsMax(changed.slots_max);
                                          out.setPosition(changed.position);
                                          if (!changed.qos.empty()) out.setQos(wire::text(changed.qos));
                                          if (!changed.queue.empty()) out.setQueue(wire::text(changed.queue));
                                          out.setOnHold(changed.on_hold);
                                          if (!changed.pool.empty()) out.setPool(wire::text(changed.pool));
                                          out.setUnneeded(changed.unneeded);
                                          out.setPreempted(changed.preempted);
                                          out.setHasUserFactor(changed.user_factor.has_value());
                                          out.setUserFactor(changed.user_factor.value_or(0));
                                          out.setScale(changed.scale);
                                          out.setHasAccount(changed.account.has_value());
                                          if (changed.account.has_value()) out.setAccount(wire::text(*changed.account));
                                          out.setLimitSinceMs(changed.limit_since_ms);
                                          out.setHasTimeLimit(changed.time_limit.has_value());
                                          out.setTimeLimitNs(changed.time_limit.value_or(Duration{0}).count());
                                          out.setKeptByOrder(changed.kept_by_order);
                                        }));
}

std::string encode(const record::SubtaskChanged& changed) {
  using Root = schema::SubtaskChangedRecord;
  std::size_t bytes = 128;
  for (const std::string& line : changed.lines) bytes += 16 + line.size();
  return sealed(wire::build_words<Root>(bytes, [&](Root::Builder out) {
    out.setJob(changed.job.value());
    out.setSubtask(changed.subtask.value());
    out.setAttempt(wire::low_of(Attempt{changed.attempt}));
    out.setAttemptRest(wire::rest_of(Attempt{changed.attempt}));
    out.setCharged(changed.charged);
    out.setLostWorkers(changed.lost_workers);
    out.setFailures(changed.failures);
    auto lines = out.initLines(static_cast<unsigned>(changed.lines.size()));
    for (unsigned i = 0; i < lines.size(); ++i) lines.set(i, wire::text(changed.lines[i]));
    out.setHasPriority(changed.priority.has_value());
    out.setPriority(changed.priority.value_or(0));
    out.setCancelled(changed.cancelled);
  }));
}

std::string encode(const record::JobEnded& ended) {
  const record::SubtasksEnded subtasks = ended_of(ended.everything, ended.checkpoints);
  using Root = schema::JobEndedRecord;
  std::size_t bytes = size_of(subtasks);
  for (const KeptKey& each : ended.keys) bytes += 24 + each.key.size();
  return sealed(wire::build_words<Root>(bytes, [&](Root::Builder out) {
    out.setJob(ended.job.value());
    wire::write_spec(ended.spec, out.initSpec());
    out.setState(static_cast<std::uint8_t>(ended.everything.state));
    write_ended(subtasks, out.initEnded());
    wire::write_error(ended.everything.error, out.initError());
    out.setSubmittedMs(ended.submitted_ms);
    out.setEndedMs(ended.ended_ms);
    out.setUnneeded(ended.unneeded);
    out.setKeptByOrder(ended.kept_by_order);
    out.setGraphOf(ended.graph_of.valid() ? ended.graph_of.value() : 0);
    out.setScale(ended.scale);
    if (ended.identity.valid()) wire::write_identity(ended.identity, out.initIdentity());
    if (ended.keys.empty()) return;
    const auto count = static_cast<unsigned>(ended.keys.size());
    auto kept_subtasks = out.initKeptSubtasks(count);
    auto kept_keys = out.initKeptKeys(count);
    for (unsigned i = 0; i < count; ++i) {
      kept_subtasks.set(i, ended.keys[i].subtask.value());
      kept_keys.set(i, wire::text(ended.keys[i].key));
    }
  }));
}

std::string encode(const record::OutputsReleased& released) {
  using Root = schema::OutputsReleasedRecord;
  return sealed(wire::build_words<Root>(64 + released.subtasks.size() * 8, [&](Root::Builder out) {
    out.setJob(released.job.value());
    wire::write_ranges(released.subtasks, out.initSubtasks(static_cast<unsigned>(released.subtasks.size() * 2)));
  }));
}

std::string encode(const record::Ordered& order) {
  using Root = schema::OrderRecord;
  const std::size_t bytes = 96 + order.who.size() + order.order.size() + order.outcome.size();
  return sealed(wire::build_words<Root>(bytes, [&](Root::Builder out) {
    out.setNumber(order.number);
    out.setAtMs(order.at_ms);
    out.setWho(wire::text(order.who));
    out.setOrder(wire::text(order.order));
    out.setOutcome(wire::text(order.outcome));
  }));
}

std::string encode(const record::SharedKept& part) {
  using Root = schema::SharedRecord;
  const std::size_t bytes = 128 + part.name.size() + part.owner.size() + part.session.size() + part.value.size();
  return sealed(wire::build_words<Root>(bytes, [&](Root::Builder out) {
    out.setKind(static_cast<std::uint8_t>(part.kind));
    out.setName(wire::text(part.name));
    out.setOwner(wire::text(part.owner));
    out.setNumber(part.number);
    out.setSession(wire::text(part.session));
    out.setTaken(part.taken);
    out.setLimit(part.limit);
    out.setValue(wire::text(part.value));
  }));
}

std::string encode(const record::WriterLost& lost) {
  return sealed(wire::build_words<schema::LostWriter>(
      64, [&](schema::LostWriter::Builder out) { out.setWriter(lost.writer.value()); }));
}

namespace {

/// Slots have a list of their own, which older programs read.
void write_settings(const std::vector<record::PolicyKept::Setting>& settings, schema::PolicyRecord::Builder out) {
  unsigned slots = 0;
  for (const record::PolicyKept::Setting& each : settings) slots += each.what == ProjectSetting::Slots ? 1 : 0;
  auto quotas = out.initQuotas(slots);
  auto others = out.initSettings(static_cast<unsigned>(settings.size()) - slots);
  unsigned next_quota = 0;
  unsigned next_other = 0;
  for (const record::PolicyKept::Setting& each : settings) {
    if (each.what == ProjectSetting::Slots) {
      auto quota = quotas[next_quota++];
      quota.setProject(wire::text(each.project));
      quota.setSlots(each.amount);
    } else {
      auto other = others[next_other++];
      other.setProject(wire::text(each.project));
      other.setWhat(static_cast<std::uint8_t>(each.what));
      other.setAmount(each.amount);
    }
  }
}

}  // namespace

std::string encode(const record::PolicyKept& kept) {
  using Root = schema::PolicyRecord;
  std::size_t bytes = 64;
  for (const record::PolicyKept::Usage& usage : kept.usage) bytes += 80 + usage.account.size() + usage.user.size();
  for (const record::PolicyKept::Setting& setting : kept.settings) bytes += 56 + setting.project.size();
  for (const record::PolicyKept::Shares& shares : kept.shares) bytes += 48 + shares.account.size();
  return sealed(wire::build_words<Root>(bytes, [&](Root::Builder out) {
    out.setAtMs(kept.at_ms);
    auto usage = out.initUsage(static_cast<unsigned>(kept.usage.size()));
    for (unsigned i = 0; i < usage.size(); ++i) {
      usage[i].setAccount(wire::text(kept.usage[i].account));
      usage[i].setUser(wire::text(kept.usage[i].user));
      usage[i].setSlotSeconds(kept.usage[i].used[0]);
      usage[i].setGpuSlotSeconds(kept.usage[i].used[1]);
      usage[i].setMemoryGibSeconds(kept.usage[i].used[2]);
      usage[i].setMostSeconds(kept.usage[i].used[3]);
    }
    write_settings(kept.settings, out);
    auto shares = out.initShares(static_cast<unsigned>(kept.shares.size()));
    for (unsigned i = 0; i < shares.size(); ++i) {
      shares[i].setAccount(wire::text(kept.shares[i].account));
      shares[i].setShares(kept.shares[i].amount);
    }
  }));
}

Result<Head> decode_head(std::string_view value) {
  return unseal<schema::JournalHead, Head>(value, [](schema::JournalHead::Reader in) {
    return Head{in.getFormat(), JobId{in.getNextJob()}};
  });
}

Result<JournalIdentity> decode_identity(std::string_view value) {
  return unseal<schema::JournalIdentity, JournalIdentity>(value, [](schema::JournalIdentity::Reader in) {
    return JournalIdentity{in.getState(), in.getBranch(), in.getLife()};
  });
}

Result<record::WorkerJoined> decode_worker(std::string_view value) {
  return unseal<schema::WorkerRecord, record::WorkerJoined>(value, [](schema::WorkerRecord::Reader in) {
    return record::WorkerJoined{WorkerId{in.getWorker()}, Incarnation{in.getIncarnation()}, wire::text(in.getName()),
                                in.getSharedStorage(),
                                in.getDrain() == 0 ? std::nullopt : std::optional{in.getDrain() == 2}};
  });
}

Result<Accepted> decode_accepted(std::string_view value) {
  return unseal<schema::JobAcceptedRecord, Accepted>(value, [](schema::JobAcceptedRecord::Reader in) {
    const JobId graph_of = in.getGraphOf() == 0 ? JobId::none() : JobId{in.getGraphOf()};
    return Accepted{JobId{in.getJob()},  wire::read_spec(in.getSpec()),
                    in.getSubtasks(),    in.getChunks(),
                    in.getSubmittedMs(), graph_of,
                    in.getScale(),       wire::read_identity(in.getIdentity())};
  });
}

Result<GraphHead> decode_graph_head(std::string_view value) {
  return unseal<schema::GraphRecord, GraphHead>(value, [](schema::GraphRecord::Reader in) {
    return GraphHead{JobId{in.getBroughtBy()}, in.getSubtasks(), in.getChunks()};
  });
}

Result<Graph> decode_chunk(std::string_view value) {
  return unseal<schema::GraphChunk, Graph>(value, [](schema::GraphChunk::Reader in) {
    // A chunk that leaves columns out costs nothing on the disk; the count bounds its cost in memory.
    if (in.getSubtasks() > kChunkSubtasksMax) wire::refuse("subtasks");
    Graph chunk;
    if (in.hasBare()) chunk = wire::read_graph(in.getBare());
    const capnp::Data::Reader packed = in.getPacked();
    const GraphPacker::Packed columns{{reinterpret_cast<const char*>(packed.begin()), packed.size()},
                                      in.getPackedBytes()};
    if (!unpack_columns(columns, in.getFirst(), in.getSubtasks(), chunk)) wire::refuse("packed");
    return chunk;
  });
}

Result<Graph> decode_plain_chunk(std::string_view value) {
  return unseal<schema::Graph, Graph>(value, [](schema::Graph::Reader in) { return wire::read_graph(in); });
}

Result<record::SubtasksEnded> decode_subtasks_ended(std::string_view value) {
  return unseal<schema::SubtasksEndedRecord, record::SubtasksEnded>(value, [](schema::SubtasksEndedRecord::Reader in) {
    record::SubtasksEnded ended = read_ended(in.getEnded());
    ended.job = JobId{in.getJob()};
    return ended;
  });
}

Result<record::JobChanged> decode_changed(std::string_view value) {
  return unseal<schema::JobChangedRecord, record::JobChanged>(value, [](schema::JobChangedRecord::Reader in) {
    return record::JobChanged{JobId{in.getJob()},
                              in.getPriority(),
                              in.getCancelling(),
                              wire::read_error(in.getWhy()),
                              in.getHasPolicy(),
                              in.getWeight(),
                              in.getSlotsMax(),
                              in.getPosition(),
                              wire::text(in.getQos()),
                              wire::text(in.getQueue()),
                              in.getOnHold(),
                              wire::text(in.getPool()),
                              in.getUnneeded(),
                              in.getPreempted(),
                              in.getHasUserFactor() ? std::optional{in.getUserFactor()} : std::nullopt,
                              in.getScale(),
                              in.getHasAccount() ? std::optional{wire::text(in.getAccount())} : std::nullopt,
                              in.getLimitSinceMs(),
                              in.getHasTimeLimit() ? std::optional{Duration{in.getTimeLimitNs()}} : std::nullopt,
                              in.getKeptByOrder()};
  });
}

Result<record::SubtaskChanged> decode_subtask_changed(std::string_view value) {
  using Root = schema::SubtaskChangedRecord;
  return unseal<Root, record::SubtaskChanged>(value, [](Root::Reader in) {
    record::SubtaskChanged changed;
    changed.job = JobId{in.getJob()};
    changed.subtask = SubtaskIndex{in.getSubtask()};
    changed.attempt = wire::attempt_of(in.getAttempt(), in.getAttemptRest()).value();
    changed.charged = in.getCharged();
    changed.lost_workers = in.getLostWorkers();
    changed.failures = in.getFailures();
    for (const auto line : in.getLines()) changed.lines.push_back(wire::text(line));
    if (in.getHasPriority()) changed.priority = in.getPriority();
    changed.cancelled = in.getCancelled();
    return changed;
  });
}

Result<record::JobEnded> decode_job_ended(std::string_view value) {
  return unseal<schema::JobEndedRecord, record::JobEnded>(value, [](schema::JobEndedRecord::Reader in) {
    record::SubtasksEnded subtasks = read_ended(in.getEnded());
    record::JobEnded ended;
    ended.job = JobId{in.getJob()};
    ended.spec = wire::read_spec(in.getSpec());
    ended.everything.job = ended.job;
    ended.everything.state = wire::enumerator(in.getState(), JobState::Cancelled, "state");
    ended.everything.counts = subtasks.counts;
    ended.everything.succeeded = std::move(subtasks.succeeded);
    ended.everything.cancelled = std::move(subtasks.cancelled);
    ended.everything.failures = std::move(subtasks.failures);
    ended.everything.outputs = std::move(subtasks.outputs);
    ended.checkpoints = std::move(subtasks.checkpoints);
    ended.everything.error = wire::read_error(in.getError());
    ended.submitted_ms = in.getSubmittedMs();
    ended.ended_ms = in.getEndedMs();
    ended.unneeded = in.getUnneeded();
    ended.kept_by_order = in.getKeptByOrder();
    ended.scale = in.getScale();
    ended.identity = wire::read_identity(in.getIdentity());
    if (in.getGraphOf() != 0) ended.graph_of = JobId{in.getGraphOf()};
    const auto kept_subtasks = in.getKeptSubtasks();
    const auto kept_keys = in.getKeptKeys();
    if (kept_subtasks.size() != kept_keys.size()) wire::refuse("keptKeys");
    for (unsigned i = 0; i < kept_keys.size(); ++i)
      ended.keys.push_back({SubtaskIndex{kept_subtasks[i]}, wire::text(kept_keys[i])});
    return ended;
  });
}

Result<record::OutputsReleased> decode_outputs_released(std::string_view value) {
  using Root = schema::OutputsReleasedRecord;
  return unseal<Root, record::OutputsReleased>(value, [](Root::Reader in) {
    return record::OutputsReleased{JobId{in.getJob()}, wire::read_ranges(in.getSubtasks())};
  });
}

Result<record::Ordered> decode_order(std::string_view value) {
  return unseal<schema::OrderRecord, record::Ordered>(value, [](schema::OrderRecord::Reader in) {
    return record::Ordered{in.getNumber(), in.getAtMs(), wire::text(in.getWho()), wire::text(in.getOrder()),
                           wire::text(in.getOutcome())};
  });
}

Result<record::SharedKept> decode_shared(std::string_view value) {
  return unseal<schema::SharedRecord, record::SharedKept>(value, [](schema::SharedRecord::Reader in) {
    record::SharedKept part;
    part.kind = wire::enumerator(in.getKind(), SharedKind::Puts, "kind of a shared object");
    part.name = wire::text(in.getName());
    part.owner = wire::text(in.getOwner());
    part.number = in.getNumber();
    part.session = wire::text(in.getSession());
    part.taken = in.getTaken();
    part.limit = in.getLimit();
    part.value = wire::text(in.getValue());
    return part;
  });
}

Result<Incarnation> decode_lost_writer(std::string_view value) {
  return unseal<schema::LostWriter, Incarnation>(
      value, [](schema::LostWriter::Reader in) { return Incarnation{in.getWriter()}; });
}

UsedSeconds used_of(schema::AccountUsage::Reader usage) {
  return {usage.getSlotSeconds(), usage.getGpuSlotSeconds(), usage.getMemoryGibSeconds(), usage.getMostSeconds()};
}

Result<record::PolicyKept> decode_policy(std::string_view value) {
  return unseal<schema::PolicyRecord, record::PolicyKept>(value, [](schema::PolicyRecord::Reader in) {
    record::PolicyKept kept;
    kept.at_ms = in.getAtMs();
    for (const auto usage : in.getUsage())
      kept.usage.push_back({wire::text(usage.getAccount()), wire::text(usage.getUser()), used_of(usage)});
    for (const auto quota : in.getQuotas())
      kept.settings.push_back({wire::text(quota.getProject()), ProjectSetting::Slots, quota.getSlots()});
    // Settings that only a newer program knows are skipped; the others are kept.
    for (const auto other : in.getSettings())
      if (other.getWhat() < kProjectSettings)
        kept.settings.push_back(
            {wire::text(other.getProject()), static_cast<ProjectSetting>(other.getWhat()), other.getAmount()});
    for (const auto shares : in.getShares())
      kept.shares.push_back({wire::text(shares.getAccount()), shares.getShares()});
    return kept;
  });
}

}  // namespace penstock::supervisor::journal_codec
