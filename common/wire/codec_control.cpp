// Codec of the messages between supervisors and workers.
#include <algorithm>

#include "common/wire/codec_parts.hpp"

namespace penstock {
namespace wire {
namespace {

void write(const RegisterReply& message, schema::ToWorker::Builder out) {
  out.initRegisterReply().setWorker(message.worker.value());
}

void write(const AssignBatch& message, schema::ToWorker::Builder root) {
  auto out = root.initAssignBatch();
  out.setJob(message.job.value());
  out.setJobPriority(message.job_priority);
  out.setTrace(message.trace);
  if (!message.job_name.empty()) out.setJobName(text(message.job_name));
  if (!message.owner.empty()) out.setOwner(text(message.owner));
  if (!message.secrets.empty())
    write_secrets(message.secrets, out.initSecrets(static_cast<unsigned>(message.secrets.size())));
  if (!message.templates.empty()) {
    auto templates = out.initTemplates(static_cast<unsigned>(message.templates.size()));
    for (unsigned i = 0; i < templates.size(); ++i) {
      templates[i].setIndex(message.templates[i].index.value());
      write_template(message.templates[i].content, templates[i].initContent());
    }
  }
  auto assignments = out.initAssignments(static_cast<unsigned>(message.assignments.size()));
  for (unsigned i = 0; i < assignments.size(); ++i) {
    const Assignment& from = message.assignments[i];
    auto to = assignments[i];
    to.setSubtask(from.subtask.value());
    to.setTemplateIndex(from.template_index.value());
    to.setPriority(from.priority);
    to.setInputCount(from.input_count);
    to.setPayloadBytes(from.payload_bytes);
    to.setAttempt(low_of(from.attempt));
    to.setBand(from.band.value());
    to.setCached(from.cached);
    to.setOmittedInputs(from.omitted_inputs);
  }
  if (!message.inputs.empty()) {
    auto inputs = out.initInputs(static_cast<unsigned>(message.inputs.size()));
    for (unsigned i = 0; i < inputs.size(); ++i) {
      const AssignedInput& from = message.inputs[i];
      auto to = inputs[i];
      to.setProducer(from.producer.value());
      to.setOutput(from.output);
      to.setPlace(static_cast<std::uint16_t>(from.place));
      to.setLocation(from.location.value());
      to.setBytes(from.bytes);
    }
  }
  if (!message.payloads.empty()) out.setPayloads(data(message.payloads));
  write_rests(message.assignments, [&](unsigned count) { return out.initAttemptRests(count); });
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
}

void write(const InputNoticeBatch& message, schema::ToWorker::Builder root) {
  auto out = root.initInputNotices();
  out.setJob(message.job.value());
  auto notices = out.initNotices(static_cast<unsigned>(message.notices.size()));
  for (unsigned i = 0; i < notices.size(); ++i) {
    notices[i].setProducer(message.notices[i].producer.value());
    notices[i].setOutput(message.notices[i].output);
    notices[i].setLocation(message.notices[i].location.value());
    notices[i].setBytes(message.notices[i].bytes);
  }
}

void write_attempts(const std::vector<AttemptRef>& attempts, capnp::List<schema::AttemptRef>::Builder list) {
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setSubtask(attempts[i].subtask.value());
    list[i].setAttempt(low_of(attempts[i].attempt));
    list[i].setAttemptRest(rest_of(attempts[i].attempt));
  }
}

std::vector<AttemptRef> read_attempts(capnp::List<schema::AttemptRef>::Reader list) {
  std::vector<AttemptRef> attempts;
  attempts.reserve(list.size());
  for (const auto entry : list)
    attempts.push_back({SubtaskIndex{entry.getSubtask()}, attempt_of(entry.getAttempt(), entry.getAttemptRest())});
  return attempts;
}

void write(const CancelBatch& message, schema::ToWorker::Builder root) {
  auto out = root.initCancel();
  out.setJob(message.job.value());
  out.setWholeJob(message.whole_job);
  write_attempts(message.attempts, out.initAttempts(static_cast<unsigned>(message.attempts.size())));
  out.setKillAfterNs(message.kill_after.count());
  out.setAlone(message.alone);
  out.setPreempt(message.preempt);
}

void write(const PriorityBatch& message, schema::ToWorker::Builder root) {
  auto out = root.initPriority();
  out.setJob(message.job.value());
  out.setChangeJob(message.change_job);
  out.setJobPriority(message.job_priority);
  auto changes = out.initChanges(static_cast<unsigned>(message.changes.size()));
  for (unsigned i = 0; i < changes.size(); ++i) {
    changes[i].setSubtask(message.changes[i].subtask.value());
    changes[i].setPriority(message.changes[i].priority);
  }
}

void write(const EntitlementBatch& message, schema::ToWorker::Builder root) {
  auto out = root.initEntitlements();
  out.setVersion(message.version);
  auto list = out.initList(static_cast<unsigned>(message.entitlements.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    const Entitlement& from = message.entitlements[i];
    list[i].setJob(from.job.value());
    list[i].setBand(from.band.value());
    list[i].setMilliSlots(from.slots.value());
    list[i].setFairRank(from.fair_rank);
    if (!from.device_slots.empty()) {
      auto slots = list[i].initDeviceSlots(static_cast<unsigned>(from.device_slots.size()));
      for (unsigned at = 0; at < slots.size(); ++at) slots.set(at, from.device_slots[at]);
    }
    if (from.barrier == 0) continue;
    list[i].setBarrier(from.barrier);
    list[i].setBarrierMaxNs(from.barrier_max.count());
    list[i].setMilliGpu(from.gpu.value());
    list[i].setDeviceMemoryBytes(from.device_memory.value());
    list[i].setMilliCpu(from.cpu.value());
    if (!from.named.empty()) write_named(from.named, list[i].initNamed(static_cast<unsigned>(from.named.size())));
    list[i].setPatienceNs(from.patience.count());
  }
}

void write(const StealRequest& message, schema::ToWorker::Builder root) {
  auto out = root.initSteal();
  out.setJob(message.job.value());
  write_attempts(message.attempts, out.initAttempts(static_cast<unsigned>(message.attempts.size())));
}

void write(const DropBatch& message, schema::ToWorker::Builder root) {
  auto out = root.initDrop();
  out.setJob(message.job.value());
  out.setLost(message.lost);
  auto list = out.initData(static_cast<unsigned>(message.data.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setProducer(message.data[i].producer.value());
    list[i].setOutput(message.data[i].output);
  }
}

void write(const RemoveCheckpoints& message, schema::ToWorker::Builder root) {
  auto list = root.initRemoveCheckpoints(static_cast<unsigned>(message.writers.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, message.writers[i].value());
}

void write(const KeepBatch& message, schema::ToWorker::Builder root) {
  auto out = root.initKeep();
  out.setJob(message.job.value());
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
  auto list = out.initData(static_cast<unsigned>(message.data.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setProducer(message.data[i].producer.value());
    list[i].setOutput(message.data[i].output);
    list[i].setLocation(message.data[i].location.value());
    list[i].setBytes(message.data[i].bytes);
    list[i].setWriter(message.data[i].writer.value());
  }
}

void write(const ForgetJob& message, schema::ToWorker::Builder out) { out.initForgetJob().setJob(message.job.value()); }
void write(const ReportsApplied& message, schema::ToWorker::Builder out) {
  out.initReportsApplied().setThrough(message.through);
}
void write(const Drain& message, schema::ToWorker::Builder out) { out.initDrain().setEnabled(message.enabled); }

void write(const ExplainQuestion& message, schema::ToWorker::Builder root) {
  auto out = root.initExplain();
  out.setQuestion(message.question);
  out.setJob(message.subtask.job.value());
  out.setSubtask(message.subtask.index.value());
}

void write(const LogQuestion& message, schema::ToWorker::Builder root) {
  auto out = root.initLog();
  out.setQuestion(message.question);
  out.setJob(message.job.value());
}

void write(const PeerAddressBatch& message, schema::ToWorker::Builder root) {
  auto list = root.initPeers(static_cast<unsigned>(message.peers.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setWorker(message.peers[i].worker.value());
    list[i].setDataAddress(text(message.peers[i].data_address));
  }
}

PeerAddressBatch read_peers(capnp::List<schema::PeerAddress>::Reader list) {
  PeerAddressBatch batch;
  for (const auto entry : list) batch.peers.push_back({WorkerId{entry.getWorker()}, text(entry.getDataAddress())});
  return batch;
}

AssignBatch read_assign_batch(schema::AssignBatch::Reader in) {
  AssignBatch batch;
  batch.job = JobId{in.getJob()};
  batch.job_priority = in.getJobPriority();
  batch.job_name = text(in.getJobName());
  batch.owner = text(in.getOwner());
  batch.secrets = read_secrets(in.getSecrets());
  batch.trace = in.getTrace();
  for (const auto entry : in.getTemplates())
    batch.templates.push_back({TemplateIndex{entry.getIndex()}, read_template(entry.getContent())});
  const auto assignments = in.getAssignments();
  batch.assignments.resize(assignments.size());
  for (unsigned i = 0; i < assignments.size(); ++i) {
    const auto from = assignments[i];
    Assignment& to = batch.assignments[i];
    to.subtask = SubtaskIndex{from.getSubtask()};
    to.template_index = TemplateIndex{from.getTemplateIndex()};
    to.priority = from.getPriority();
    to.input_count = from.getInputCount();
    to.payload_bytes = from.getPayloadBytes();
    to.attempt = Attempt{from.getAttempt()};
    to.band = BandIndex{from.getBand()};
    to.cached = from.getCached();
    to.omitted_inputs = from.getOmittedInputs();
  }
  const auto inputs = in.getInputs();
  batch.inputs.resize(inputs.size());
  for (unsigned i = 0; i < inputs.size(); ++i) {
    const auto from = inputs[i];
    AssignedInput& to = batch.inputs[i];
    to.producer = SubtaskIndex{from.getProducer()};
    to.output = from.getOutput();
    to.place = enumerator(from.getPlace(), InputPlace::Remote, "place");
    to.location = WorkerId{from.getLocation()};
    to.bytes = from.getBytes();
    if (to.bytes < 0) refuse("bytes");
  }
  batch.payloads = data(in.getPayloads());
  read_rests(in.getAttemptRests(), batch.assignments);
  batch.identity = read_identity(in.getIdentity());
  return batch;
}

InputNoticeBatch read_notices(schema::ToWorker::InputNotices::Reader in) {
  InputNoticeBatch batch{JobId{in.getJob()}, {}};
  for (const auto entry : in.getNotices())
    batch.notices.push_back(
        {SubtaskIndex{entry.getProducer()}, entry.getOutput(), WorkerId{entry.getLocation()}, entry.getBytes()});
  return batch;
}

PriorityBatch read_priorities(schema::ToWorker::Priority::Reader in) {
  PriorityBatch batch{JobId{in.getJob()}, in.getChangeJob(), in.getJobPriority(), {}};
  for (const auto entry : in.getChanges())
    batch.changes.push_back({SubtaskIndex{entry.getSubtask()}, entry.getPriority()});
  return batch;
}

EntitlementBatch read_entitlements(schema::ToWorker::Entitlements::Reader in) {
  EntitlementBatch batch{in.getVersion(), {}};
  for (const auto entry : in.getList()) {
    batch.entitlements.push_back({JobId{entry.getJob()}, BandIndex{entry.getBand()}, MilliSlots{entry.getMilliSlots()},
                                  entry.getFairRank(), entry.getBarrier(), Duration{entry.getBarrierMaxNs()},
                                  MilliGpu{entry.getMilliGpu()}, Bytes{entry.getDeviceMemoryBytes()},
                                  MilliCpu{entry.getMilliCpu()}, read_named(entry.getNamed()),
                                  Duration{entry.getPatienceNs()}});
    Entitlement& read = batch.entitlements.back();
    if (entry.getDeviceSlots().size() > kBandDevicesMax) refuse("number of devices");
    for (const std::uint16_t milli : entry.getDeviceSlots()) read.device_slots.push_back(milli);
    const bool any_less =
        std::any_of(read.named.begin(), read.named.end(), [](const auto& each) { return each.amount < 0; });
    if (read.barrier_max < Duration{0} || read.gpu < MilliGpu{0} || read.device_memory < Bytes{0} ||
        read.cpu < MilliCpu{0} || read.patience < Duration{0} || any_less)
      refuse("what is reserved");
  }
  return batch;
}

DropBatch read_drop(schema::ToWorker::Drop::Reader in) {
  DropBatch batch{JobId{in.getJob()}, in.getLost(), {}};
  for (const auto entry : in.getData()) batch.data.push_back({SubtaskIndex{entry.getProducer()}, entry.getOutput()});
  return batch;
}

KeepBatch read_keep(schema::ToWorker::Keep::Reader in) {
  KeepBatch batch{JobId{in.getJob()}, {}, read_identity(in.getIdentity())};
  for (const auto entry : in.getData())
    batch.data.push_back({SubtaskIndex{entry.getProducer()}, entry.getOutput(), WorkerId{entry.getLocation()},
                          entry.getBytes(), Incarnation{entry.getWriter()}});
  return batch;
}

void read_into(schema::ToWorker::Reader in, std::vector<ToWorker>& messages) {
  switch (in.which()) {
    case schema::ToWorker::REGISTER_REPLY:
      messages.emplace_back(RegisterReply{WorkerId{in.getRegisterReply().getWorker()}});
      return;
    case schema::ToWorker::ASSIGN_BATCH: messages.emplace_back(read_assign_batch(in.getAssignBatch())); return;
    case schema::ToWorker::INPUT_NOTICES: messages.emplace_back(read_notices(in.getInputNotices())); return;
    case schema::ToWorker::CANCEL: {
      const auto cancel = in.getCancel();
      messages.emplace_back(CancelBatch{JobId{cancel.getJob()}, cancel.getWholeJob(),
                                        read_attempts(cancel.getAttempts()), Duration{cancel.getKillAfterNs()},
                                        cancel.getAlone(), cancel.getPreempt()});
      return;
    }
    case schema::ToWorker::PRIORITY: messages.emplace_back(read_priorities(in.getPriority())); return;
    case schema::ToWorker::ENTITLEMENTS: messages.emplace_back(read_entitlements(in.getEntitlements())); return;
    case schema::ToWorker::STEAL:
      messages.emplace_back(StealRequest{JobId{in.getSteal().getJob()}, read_attempts(in.getSteal().getAttempts())});
      return;
    case schema::ToWorker::DROP: messages.emplace_back(read_drop(in.getDrop())); return;
    case schema::ToWorker::FORGET_JOB: messages.emplace_back(ForgetJob{JobId{in.getForgetJob().getJob()}}); return;
    case schema::ToWorker::REPORTS_APPLIED:
      messages.emplace_back(ReportsApplied{in.getReportsApplied().getThrough()});
      return;
    case schema::ToWorker::DRAIN: messages.emplace_back(Drain{in.getDrain().getEnabled()}); return;
    case schema::ToWorker::KEEP: messages.emplace_back(read_keep(in.getKeep())); return;
    case schema::ToWorker::REMOVE_CHECKPOINTS: {
      RemoveCheckpoints remove;
      for (const std::uint64_t writer : in.getRemoveCheckpoints()) remove.writers.push_back(Incarnation{writer});
      messages.emplace_back(std::move(remove));
      return;
    }
    case schema::ToWorker::PEERS: messages.emplace_back(read_peers(in.getPeers())); return;
    case schema::ToWorker::LOG:
      messages.emplace_back(LogQuestion{in.getLog().getQuestion(), JobId{in.getLog().getJob()}});
      return;
    case schema::ToWorker::EXPLAIN: {
      const auto explain = in.getExplain();
      messages.emplace_back(
          ExplainQuestion{explain.getQuestion(), {JobId{explain.getJob()}, SubtaskIndex{explain.getSubtask()}}});
      return;
    }
  }
  // Members that only a newer supervisor knows are left out, as the schema allows.
}

}  // namespace
}  // namespace wire

FramePayloadPtr encode(std::span<const ToWorker> messages) {
  std::size_t bytes = 64;
  for (const ToWorker& message : messages) bytes += wire_size(message);
  return wire::build<schema::ToWorkerFrame>(bytes, [&](schema::ToWorkerFrame::Builder root) {
    auto list = root.initMessages(static_cast<unsigned>(messages.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      std::visit([&](const auto& message) { wire::write(message, list[i]); }, messages[i]);
  });
}

Result<std::vector<ToWorker>> decode_to_worker(std::span<const std::byte> bytes) {
  return wire::parse<schema::ToWorkerFrame, std::vector<ToWorker>>(bytes, [](schema::ToWorkerFrame::Reader root) {
    std::vector<ToWorker> messages;
    for (const auto entry : root.getMessages()) wire::read_into(entry, messages);
    return messages;
  });
}

std::size_t wire_size(const ToWorker& message) {
  std::size_t bytes = 64;
  if (const auto* batch = std::get_if<AssignBatch>(&message)) {
    bytes += 128 + batch->assignments.size() * 40 + batch->inputs.size() * 24 + batch->payloads.size() +
             batch->job_name.size() + batch->owner.size();
    bytes += wire::size_of(batch->secrets);
    for (const TemplateDefinition& definition : batch->templates) bytes += 16 + wire::size_of(definition.content);
  } else if (const auto* notices = std::get_if<InputNoticeBatch>(&message)) {
    bytes += notices->notices.size() * 24;
  } else if (const auto* cancel = std::get_if<CancelBatch>(&message)) {
    bytes += cancel->attempts.size() * 16;
  } else if (const auto* priorities = std::get_if<PriorityBatch>(&message)) {
    bytes += priorities->changes.size() * 16;
  } else if (const auto* plan = std::get_if<EntitlementBatch>(&message)) {
    bytes += plan->entitlements.size() * 104;
    for (const Entitlement& each : plan->entitlements) {
      for (const NamedAmount& amount : each.named) bytes += 32 + amount.name.size();
      bytes += each.device_slots.size() * 2 + 8;
    }
  } else if (const auto* steal = std::get_if<StealRequest>(&message)) {
    bytes += steal->attempts.size() * 16;
  } else if (const auto* drop = std::get_if<DropBatch>(&message)) {
    bytes += drop->data.size() * 8;
  } else if (const auto* keep = std::get_if<KeepBatch>(&message)) {
    bytes += keep->data.size() * 40;
  } else if (const auto* remove = std::get_if<RemoveCheckpoints>(&message)) {
    bytes += remove->writers.size() * 8;
  } else if (const auto* peers = std::get_if<PeerAddressBatch>(&message)) {
    for (const PeerAddress& peer : peers->peers) bytes += 32 + peer.data_address.size();
  }
  return bytes;
}

}  // namespace penstock
