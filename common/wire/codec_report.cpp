// Codec of the messages of workers, and of introductions.
#include "common/base/error_code_of.hpp"
#include "common/wire/codec_parts.hpp"

namespace penstock {
namespace wire {

void write_failure(const FailureDetail& failure, schema::FailureDetail::Builder out) {
  out.setFailure(static_cast<std::uint8_t>(failure.failure));
  out.setExitCode(failure.exit_code);
  out.setSignal(failure.signal);
  out.setPeakMemoryBytes(failure.peak_memory_bytes);
  out.setLostProducer(failure.lost_producer.value());
  out.setMessage(data(failure.message));
  out.setOutputTail(data(failure.output_tail));
  if (!failure.detail.empty()) out.setDetail(data(failure.detail));
  if (failure.code) out.setCode(static_cast<std::uint16_t>(*failure.code));
  out.setOutputsBytes(failure.outputs_bytes);
}

FailureDetail read_failure(schema::FailureDetail::Reader in) {
  FailureDetail failure;
  failure.failure = enumerator(in.getFailure(), FailureClass::Exhausted, "failure class");
  failure.exit_code = in.getExitCode();
  failure.signal = in.getSignal();
  failure.peak_memory_bytes = in.getPeakMemoryBytes();
  failure.lost_producer = SubtaskIndex{in.getLostProducer()};
  failure.message = data(in.getMessage());
  failure.output_tail = data(in.getOutputTail());
  failure.detail = data(in.getDetail());
  failure.code = error_code_of(in.getCode());
  failure.outputs_bytes = in.getOutputsBytes();
  return failure;
}

void write_trace(const AttemptTrace& trace, schema::AttemptTrace::Builder out) {
  out.setSubtask(trace.subtask.value());
  out.setAttempt(low_of(trace.attempt));
  out.setAttemptRest(rest_of(trace.attempt));
  out.setBand(trace.band.value());
  out.setLane(trace.lane.value());
  out.setArrivedUs(trace.arrived_us);
  out.setReadyUs(trace.ready_us);
  out.setStartedUs(trace.started_us);
  out.setEndedUs(trace.ended_us);
}

AttemptTrace read_trace(schema::AttemptTrace::Reader in) {
  return {SubtaskIndex{in.getSubtask()},
          attempt_of(in.getAttempt(), in.getAttemptRest()),
          BandIndex{in.getBand()},
          SlotIndex{in.getLane()},
          in.getArrivedUs(),
          in.getReadyUs(),
          in.getStartedUs(),
          in.getEndedUs()};
}

namespace {

/// Of attempts; nothing where none has one.
template <class Attempts, class Init>
void write_device_sets(const Attempts& attempts, Init init) {
  if (std::none_of(attempts.begin(), attempts.end(), [](const auto& each) { return each.devices != 0; })) return;
  auto list = init(static_cast<unsigned>(attempts.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, attempts[i].devices);
}
template <class Attempts>
void read_device_sets(capnp::List<std::uint16_t>::Reader list, Attempts& attempts) {
  if (list.size() == 0) return;
  if (list.size() != attempts.size()) refuse("devices of attempts");
  for (unsigned i = 0; i < attempts.size(); ++i) attempts[i].devices = list[i];
}

/// Of reports about runs with a slot that is lent; nothing where there is none.
void write_slot_states(const std::vector<AttemptReport>& from, schema::JobReports::Builder to) {
  const auto is_lent = [](const AttemptReport& each) { return each.outcome >= Outcome::Lent; };
  if (std::none_of(from.begin(), from.end(), is_lent)) return;
  auto attempts = to.getAttempts();
  auto states = to.initSlotStates(static_cast<unsigned>(from.size()));
  for (unsigned i = 0; i < states.size(); ++i) {
    states.set(i, from[i].outcome == Outcome::Lent ? 1 : from[i].outcome == Outcome::Wanted ? 2 : 0);
    if (is_lent(from[i])) attempts[i].setOutcome(static_cast<std::uint8_t>(Outcome::Started));
  }
}
void read_slot_states(capnp::List<std::uint8_t>::Reader list, std::vector<AttemptReport>& attempts) {
  if (list.size() == 0) return;
  if (list.size() != attempts.size()) refuse("slot states of attempts");
  for (unsigned i = 0; i < attempts.size(); ++i) {
    if (list[i] == 0) continue;
    if (list[i] > 2 || attempts[i].outcome != Outcome::Started) refuse("slot state of an attempt");
    attempts[i].outcome = list[i] == 1 ? Outcome::Lent : Outcome::Wanted;
  }
}

void write_devices(const std::vector<DeviceDescription>& devices, schema::BandDescription::Builder band) {
  if (devices.empty()) return;
  band.setDeviceUuid(text(devices.front().uuid));
  band.setDeviceName(text(devices.front().name));
  band.setPciAddress(text(devices.front().pci_address));
  auto out = band.initDevices(static_cast<unsigned>(devices.size()));
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setUuid(text(devices[i].uuid));
    out[i].setName(text(devices[i].name));
    out[i].setPciAddress(text(devices[i].pci_address));
    out[i].setMemoryBytes(devices[i].memory.value());
    out[i].setNumaNode(devices[i].numa_node);
    out[i].setLinked(devices[i].linked);
  }
}

void write(const Register& message, schema::FromWorker::Builder root) {
  auto out = root.initRegister();
  out.setName(text(message.name));
  out.setHost(text(message.host));
  out.setDataAddress(text(message.data_address));
  auto bands = out.initBands(static_cast<unsigned>(message.bands.size()));
  for (unsigned i = 0; i < bands.size(); ++i) {
    const BandDescription& from = message.bands[i];
    auto to = bands[i];
    to.setName(text(from.name));
    to.setKind(static_cast<std::uint8_t>(from.kind));
    write_resources(from.capacity, to.initCapacity());
    to.setMemoryHardLimitBytes(from.memory_hard_limit.value());
    to.setNumaNode(from.numa_node);
    write_devices(from.devices, to);
  }
  write_texts(message.operators, out.initOperators(static_cast<unsigned>(message.operators.size())));
  out.setReclaims(message.reclaims);
  out.setSharedStorage(message.shared_storage);
  out.setStoreBytesMax(message.store_bytes_max.value());
  if (!message.labels.empty())
    write_texts(message.labels, out.initLabels(static_cast<unsigned>(message.labels.size())));
  if (!message.users.empty()) write_texts(message.users, out.initUsers(static_cast<unsigned>(message.users.size())));
  out.setLogQuestions(message.log_questions);
  out.setBarriers(message.barriers);
  out.setKeepsToDevices(message.keeps_to_devices);
  if (!message.crash) return;
  auto crash = out.initCrash();
  crash.setLife(message.crash->life.value());
  crash.setJob(message.crash->subtask.job.value());
  crash.setSubtask(message.crash->subtask.index.value());
  crash.setAttempt(low_of(message.crash->attempt));
  crash.setAttemptRest(rest_of(message.crash->attempt));
  crash.setSignal(message.crash->signal);
  crash.setMessage(text(message.crash->message));
}

void write_reports(const JobReports& from, schema::JobReports::Builder to) {
  to.setJob(from.job.value());
  auto attempts = to.initAttempts(static_cast<unsigned>(from.attempts.size()));
  std::uint8_t outcomes = 0;  // All bits of any.
  DeviceSet devices = 0;
  for (unsigned i = 0; i < attempts.size(); ++i) {
    const AttemptReport& report = from.attempts[i];
    auto out = attempts[i];
    out.setSubtask(report.subtask.value());
    out.setRunUs(report.run_us);
    out.setAttempt(low_of(report.attempt));
    out.setOutputCount(report.output_count);
    out.setOutcome(static_cast<std::uint8_t>(report.outcome));
    outcomes |= static_cast<std::uint8_t>(report.outcome);
    devices |= report.devices;
    out.setForward(static_cast<std::uint8_t>(report.forward));
    out.setBand(report.band.value());
  }
  if (!from.outputs.empty()) {
    auto outputs = to.initOutputs(static_cast<unsigned>(from.outputs.size()));
    for (unsigned i = 0; i < outputs.size(); ++i) {
      outputs[i].setOutput(from.outputs[i].output);
      outputs[i].setBytes(from.outputs[i].bytes);
    }
  }
  if (!from.failures.empty()) {
    auto failures = to.initFailures(static_cast<unsigned>(from.failures.size()));
    for (unsigned i = 0; i < failures.size(); ++i) write_failure(from.failures[i], failures[i]);
  }
  if (!from.traces.empty()) {
    auto traces = to.initTraces(static_cast<unsigned>(from.traces.size()));
    for (unsigned i = 0; i < traces.size(); ++i) write_trace(from.traces[i], traces[i]);
  }
  write_rests(from.attempts, [&](unsigned count) { return to.initAttemptRests(count); });
  if (devices != 0) write_device_sets(from.attempts, [&](unsigned count) { return to.initDeviceSets(count); });
  // Two bits of all outcomes that Lent (5) and Wanted (6) have; other outcomes may have both together, and the function
  // looks at each.
  if ((outcomes & 4U) != 0 && (outcomes & 3U) != 0) write_slot_states(from.attempts, to);
  if (from.identity.valid()) write_identity(from.identity, to.initIdentity());
}

void write_counters(const WorkerCounters& from, schema::WorkerCounters::Builder to) {
  to.setAssigned(from.assigned);
  to.setStarted(from.started);
  to.setSucceeded(from.succeeded);
  to.setFailed(from.failed);
  to.setCancelled(from.cancelled);
  to.setReturned(from.returned);
  to.setStale(from.stale);
  to.setForwardHits(from.forward_hits);
  auto misses = to.initForwardMisses(static_cast<unsigned>(WorkerCounters::kForwardResults));
  for (unsigned i = 0; i < misses.size(); ++i) misses.set(i, from.forward_misses[i]);
  to.setFetches(from.fetches);
  to.setDemoted(from.demoted);
  to.setExclusive(from.exclusive);
  to.setReliefSteps(from.relief_steps);
  to.setGrown(from.grown);
  to.setSpills(from.spills);
  to.setRoomWaits(from.room_waits);
}

void write(const ReportBatch& message, schema::FromWorker::Builder root) {
  auto out = root.initReportBatch();
  out.setNumber(message.number);
  auto jobs = out.initJobs(static_cast<unsigned>(message.jobs.size()));
  for (unsigned i = 0; i < jobs.size(); ++i) write_reports(message.jobs[i], jobs[i]);
  auto replicas = out.initReplicas(static_cast<unsigned>(message.replicas.size()));
  for (unsigned i = 0; i < replicas.size(); ++i) {
    replicas[i].setJob(message.replicas[i].producer.job.value());
    replicas[i].setProducer(message.replicas[i].producer.index.value());
    replicas[i].setOutput(message.replicas[i].output);
    replicas[i].setCheckpoint(message.replicas[i].checkpoint);
  }
  auto loads = out.initLoads(static_cast<unsigned>(message.loads.size()));
  for (unsigned i = 0; i < loads.size(); ++i) {
    const BandLoad& from = message.loads[i];
    auto to = loads[i];
    to.setBand(from.band.value());
    to.setCached(from.cached);
    to.setQueued(from.queued);
    to.setPreparing(from.preparing);
    to.setReady(from.ready);
    to.setRunning(from.running);
    to.setQuotaUsedBytes(from.quota_used.value());
    to.setStoreUsedBytes(from.store_used.value());
    to.setYielded(from.yielded);
  }
  if (message.counters.any()) write_counters(*message.counters, out.initCounters());
}

void write(const DrainState& message, schema::FromWorker::Builder root) {
  auto out = root.initDrainState();
  out.setDraining(message.draining);
  out.setEmpty(message.empty);
}

void write(const BarrierAnswer& message, schema::FromWorker::Builder root) {
  auto out = root.initBarrierAnswer();
  out.setJob(message.job.value());
  out.setBand(message.band.value());
  out.setBarrier(message.barrier);
  out.setMilliSlots(message.held.value());
}

void write(const ExplainAnswer& message, schema::FromWorker::Builder root) {
  auto out = root.initExplanation();
  out.setQuestion(message.question);
  out.setKnown(message.known);
  out.setState(text(message.state));
  out.setReason(text(message.reason));
}

void write(const LogAnswer& message, schema::FromWorker::Builder root) {
  auto out = root.initLogAnswer();
  out.setQuestion(message.question);
  out.setLines(data(message.lines));
}

void write_claimed(const ClaimedJob& from, schema::ClaimedJob::Builder to) {
  to.setJob(from.job.value());
  const auto attempts = static_cast<unsigned>(from.attempts.size());
  auto subtasks = to.initSubtasks(attempts);
  auto numbers = to.initAttempts(attempts);
  auto bands = to.initBands(attempts);
  auto stages = to.initStages(attempts);
  for (unsigned i = 0; i < attempts; ++i) {
    subtasks.set(i, from.attempts[i].subtask.value());
    numbers.set(i, low_of(from.attempts[i].attempt));
    bands.set(i, from.attempts[i].band.value());
    stages.set(i, static_cast<std::uint8_t>(from.attempts[i].stage));
  }
  const auto data = static_cast<unsigned>(from.data.size());
  auto producers = to.initProducers(data);
  auto outputs = to.initOutputs(data);
  auto bytes = to.initBytes(data);
  for (unsigned i = 0; i < data; ++i) {
    producers.set(i, from.data[i].producer.value());
    outputs.set(i, from.data[i].output);
    bytes.set(i, from.data[i].bytes);
  }
  write_rests(from.attempts, [&](unsigned count) { return to.initAttemptRests(count); });
  write_device_sets(from.attempts, [&](unsigned count) { return to.initDeviceSets(count); });
  if (from.identity.valid()) write_identity(from.identity, to.initIdentity());
}

void write(const WorkerClaim& message, schema::FromWorker::Builder root) {
  auto out = root.initClaim();
  out.setLast(message.last);
  out.setDraining(message.draining);
  auto jobs = out.initClaimed(static_cast<unsigned>(message.jobs.size()));
  for (unsigned i = 0; i < jobs.size(); ++i) write_claimed(message.jobs[i], jobs[i]);
}

ClaimedJob read_claimed(schema::ClaimedJob::Reader in) {
  ClaimedJob claimed{JobId{in.getJob()}, {}, {}};
  const auto subtasks = in.getSubtasks();
  const auto numbers = in.getAttempts();
  const auto bands = in.getBands();
  const auto stages = in.getStages();
  if (numbers.size() != subtasks.size() || bands.size() != subtasks.size() || stages.size() != subtasks.size())
    refuse("claimed attempts");
  claimed.attempts.reserve(subtasks.size());
  for (unsigned i = 0; i < subtasks.size(); ++i)
    claimed.attempts.push_back({SubtaskIndex{subtasks[i]}, Attempt{numbers[i]}, BandIndex{bands[i]},
                                enumerator(stages[i], ClaimedStage::Running, "stage")});
  read_rests(in.getAttemptRests(), claimed.attempts);
  read_device_sets(in.getDeviceSets(), claimed.attempts);
  claimed.identity = read_identity(in.getIdentity());
  const auto producers = in.getProducers();
  const auto outputs = in.getOutputs();
  const auto bytes = in.getBytes();
  if (outputs.size() != producers.size() || bytes.size() != producers.size()) refuse("claimed data");
  claimed.data.reserve(producers.size());
  for (unsigned i = 0; i < producers.size(); ++i) {
    if (bytes[i] < 0) refuse("bytes");
    claimed.data.push_back({SubtaskIndex{producers[i]}, outputs[i], bytes[i]});
  }
  return claimed;
}

WorkerClaim read_claim(schema::FromWorker::Claim::Reader in) {
  WorkerClaim claim{in.getLast(), in.getDraining(), {}};
  for (const auto entry : in.getClaimed()) claim.jobs.push_back(read_claimed(entry));
  return claim;
}

/// A worker from before protocol 1.6 describes its only device by other fields.
std::vector<DeviceDescription> read_devices(schema::BandDescription::Reader in, const BandDescription& band) {
  std::vector<DeviceDescription> devices;
  if (in.getDevices().size() > kBandDevicesMax) refuse("number of devices of a band");
  for (const auto from : in.getDevices())
    devices.push_back({text(from.getUuid()), text(from.getName()), text(from.getPciAddress()),
                       Bytes{from.getMemoryBytes()}, from.getNumaNode(), from.getLinked()});
  if (devices.empty() && in.getDeviceUuid().size() > 0)
    devices.push_back({text(in.getDeviceUuid()), text(in.getDeviceName()), text(in.getPciAddress()),
                       band.capacity.device_memory, band.numa_node, 0});
  return devices;
}

Register read_register(schema::Register::Reader in) {
  Register message;
  message.name = text(in.getName());
  message.host = text(in.getHost());
  message.data_address = text(in.getDataAddress());
  for (const auto from : in.getBands()) {
    BandDescription band;
    band.name = text(from.getName());
    band.kind = enumerator(from.getKind(), BandKind::Gpu, "band kind");
    band.capacity = read_resources(from.getCapacity());
    if (band.capacity.slots < MilliSlots{1}) refuse("slots of a band");
    band.memory_hard_limit = Bytes{from.getMemoryHardLimitBytes()};
    band.numa_node = from.getNumaNode();
    band.devices = read_devices(from, band);
    message.bands.push_back(std::move(band));
  }
  if (message.bands.empty() || message.bands.size() > 4096) refuse("number of bands");
  message.operators = read_texts(in.getOperators());
  message.reclaims = in.getReclaims();
  message.shared_storage = in.getSharedStorage();
  message.store_bytes_max = Bytes{in.getStoreBytesMax()};
  if (message.store_bytes_max < Bytes{0}) refuse("size of the store");
  message.labels = read_texts(in.getLabels());
  message.users = read_texts(in.getUsers());
  message.log_questions = in.getLogQuestions();
  message.barriers = in.getBarriers();
  message.keeps_to_devices = in.getKeepsToDevices();
  if (!in.hasCrash()) return message;
  const auto crash = in.getCrash();
  message.crash = OperatorCrash{Incarnation{crash.getLife()},
                                {JobId{crash.getJob()}, SubtaskIndex{crash.getSubtask()}},
                                attempt_of(crash.getAttempt(), crash.getAttemptRest()),
                                crash.getSignal(),
                                text(crash.getMessage())};
  return message;
}

JobReports read_reports(schema::JobReports::Reader in) {
  JobReports reports;
  reports.job = JobId{in.getJob()};
  const auto attempts = in.getAttempts();
  reports.attempts.resize(attempts.size());
  for (unsigned i = 0; i < attempts.size(); ++i) {
    const auto from = attempts[i];
    AttemptReport& to = reports.attempts[i];
    to.subtask = SubtaskIndex{from.getSubtask()};
    to.run_us = from.getRunUs();
    to.attempt = Attempt{from.getAttempt()};
    to.output_count = from.getOutputCount();
    to.outcome = enumerator(from.getOutcome(), Outcome::Returned, "outcome");
    to.forward = enumerator(from.getForward(), ForwardResult::Lease, "forward");
    to.band = BandIndex{from.getBand()};
  }
  for (const auto entry : in.getOutputs()) {
    if (entry.getBytes() < 0) refuse("bytes");
    reports.outputs.push_back({entry.getOutput(), entry.getBytes()});
  }
  for (const auto entry : in.getFailures()) reports.failures.push_back(read_failure(entry));
  for (const auto entry : in.getTraces()) reports.traces.push_back(read_trace(entry));
  read_rests(in.getAttemptRests(), reports.attempts);
  read_device_sets(in.getDeviceSets(), reports.attempts);
  read_slot_states(in.getSlotStates(), reports.attempts);
  reports.identity = read_identity(in.getIdentity());
  return reports;
}

WorkerCounters read_counters(schema::WorkerCounters::Reader in) {
  WorkerCounters counters;
  counters.assigned = in.getAssigned();
  counters.started = in.getStarted();
  counters.succeeded = in.getSucceeded();
  counters.failed = in.getFailed();
  counters.cancelled = in.getCancelled();
  counters.returned = in.getReturned();
  counters.stale = in.getStale();
  counters.forward_hits = in.getForwardHits();
  const auto misses = in.getForwardMisses();
  // A later version may have more reasons.
  for (unsigned i = 0; i < misses.size() && i < WorkerCounters::kForwardResults; ++i)
    counters.forward_misses[i] = misses[i];
  counters.fetches = in.getFetches();
  counters.demoted = in.getDemoted();
  counters.exclusive = in.getExclusive();
  counters.relief_steps = in.getReliefSteps();
  counters.grown = in.getGrown();
  counters.spills = in.getSpills();
  counters.room_waits = in.getRoomWaits();
  return counters;
}

ReportBatch read_batch(schema::FromWorker::ReportBatch::Reader in) {
  ReportBatch batch;
  batch.number = in.getNumber();
  for (const auto entry : in.getJobs()) batch.jobs.push_back(read_reports(entry));
  for (const auto entry : in.getReplicas())
    batch.replicas.push_back(
        {{JobId{entry.getJob()}, SubtaskIndex{entry.getProducer()}}, entry.getOutput(), entry.getCheckpoint()});
  for (const auto from : in.getLoads()) {
    BandLoad load;
    load.band = BandIndex{from.getBand()};
    load.cached = from.getCached();
    load.queued = from.getQueued();
    load.preparing = from.getPreparing();
    load.ready = from.getReady();
    load.running = from.getRunning();
    load.quota_used = Bytes{from.getQuotaUsedBytes()};
    load.store_used = Bytes{from.getStoreUsedBytes()};
    load.yielded = from.getYielded();
    batch.loads.push_back(load);
  }
  if (in.hasCounters()) batch.counters.edit() = read_counters(in.getCounters());
  return batch;
}

void read_into(schema::FromWorker::Reader in, std::vector<FromWorker>& messages) {
  switch (in.which()) {
    case schema::FromWorker::REGISTER: messages.emplace_back(read_register(in.getRegister())); return;
    case schema::FromWorker::REPORT_BATCH: messages.emplace_back(read_batch(in.getReportBatch())); return;
    case schema::FromWorker::DRAIN_STATE:
      messages.emplace_back(DrainState{in.getDrainState().getDraining(), in.getDrainState().getEmpty()});
      return;
    case schema::FromWorker::CLAIM: messages.emplace_back(read_claim(in.getClaim())); return;
    case schema::FromWorker::LOG_ANSWER:
      messages.emplace_back(LogAnswer{in.getLogAnswer().getQuestion(), data(in.getLogAnswer().getLines())});
      return;
    case schema::FromWorker::BARRIER_ANSWER: {
      const auto answer = in.getBarrierAnswer();
      if (answer.getMilliSlots() < 0) refuse("reserved slots");
      messages.emplace_back(BarrierAnswer{JobId{answer.getJob()}, BandIndex{answer.getBand()}, answer.getBarrier(),
                                          MilliSlots{answer.getMilliSlots()}});
      return;
    }
    case schema::FromWorker::EXPLANATION: {
      const auto answer = in.getExplanation();
      messages.emplace_back(
          ExplainAnswer{answer.getQuestion(), answer.getKnown(), text(answer.getState()), text(answer.getReason())});
      return;
    }
  }
}

void write(const Hello& hello, schema::Introduction::Builder root) {
  auto out = root.initHello();
  out.setMajor(hello.major);
  out.setMinor(hello.minor);
  out.setSoftwareVersion(text(hello.software_version));
  out.setRole(static_cast<std::uint8_t>(hello.role));
  out.setName(text(hello.name));
  out.setHost(text(hello.host));
  out.setProcessId(hello.process_id);
  out.setIncarnation(hello.incarnation.value());
  out.setPeer(hello.peer.value());
  out.setReceivedThrough(hello.received_through);
  out.setStartsAsUsers(hello.starts_as_users);
}

void write(const Welcome& welcome, schema::Introduction::Builder root) {
  auto out = root.initWelcome();
  out.setMajor(welcome.major);
  out.setMinor(welcome.minor);
  out.setSoftwareVersion(text(welcome.software_version));
  out.setIncarnation(welcome.incarnation.value());
  out.setResumed(welcome.resumed);
  out.setReceivedThrough(welcome.received_through);
  out.setHeartbeatNs(welcome.heartbeat.count());
  out.setState(welcome.state);
  out.setLife(welcome.life);
  out.setBranch(welcome.branch);
}

void write(const Refusal& refusal, schema::Introduction::Builder root) {
  write_error(refusal.error, root.initRefusal());
}

void write(const Join& join, schema::Introduction::Builder root) {
  auto out = root.initJoin();
  out.setMajor(join.major);
  out.setToken(text(join.token));
  out.setPublicKey(data(join.public_key));
  out.setUser(text(join.user));
  out.setProof(text(join.proof));
}

void write(const Joined& joined, schema::Introduction::Builder root) {
  auto out = root.initJoined();
  out.setCertificate(text(joined.certificate));
  out.setAuthority(text(joined.authority));
}

void write(const SecurityNotice& notice, schema::Introduction::Builder root) {
  auto out = root.initNotice();
  auto revoked = out.initRevoked(static_cast<unsigned>(notice.revoked.size()));
  for (unsigned i = 0; i < revoked.size(); ++i) revoked.set(i, text(notice.revoked[i]));
  auto credentials = out.initCredentials(static_cast<unsigned>(notice.credentials.size()));
  for (unsigned i = 0; i < credentials.size(); ++i) {
    credentials[i].setUser(text(notice.credentials[i].user));
    credentials[i].setPem(text(notice.credentials[i].pem));
  }
}

Introduction read_notice(schema::Introduction::Notice::Reader from) {
  SecurityNotice notice;
  for (const auto serial : from.getRevoked()) notice.revoked.emplace_back(text(serial));
  for (const auto credential : from.getCredentials())
    notice.credentials.push_back({text(credential.getUser()), text(credential.getPem())});
  return notice;
}

Introduction read_join(schema::Introduction::Join::Reader from) {
  Join join;
  join.major = from.getMajor();
  join.token = text(from.getToken());
  join.public_key = data(from.getPublicKey());
  join.user = text(from.getUser());
  join.proof = text(from.getProof());
  return join;
}

Introduction read_introduction(schema::Introduction::Reader in) {
  if (in.isRefusal()) return Refusal{read_error(in.getRefusal())};
  if (in.isWelcome()) {
    const auto from = in.getWelcome();
    Welcome welcome;
    welcome.major = from.getMajor();
    welcome.minor = from.getMinor();
    welcome.software_version = text(from.getSoftwareVersion());
    welcome.incarnation = Incarnation{from.getIncarnation()};
    welcome.resumed = from.getResumed();
    welcome.received_through = from.getReceivedThrough();
    welcome.heartbeat = Duration{from.getHeartbeatNs()};
    welcome.state = from.getState();
    welcome.life = from.getLife();
    welcome.branch = from.getBranch();
    return welcome;
  }
  if (in.isJoin()) return read_join(in.getJoin());
  if (in.isJoined()) return Joined{text(in.getJoined().getCertificate()), text(in.getJoined().getAuthority())};
  if (in.isNotice()) return read_notice(in.getNotice());
  if (!in.isHello()) refuse("introduction");
  const auto from = in.getHello();
  Hello hello;
  hello.major = from.getMajor();
  hello.minor = from.getMinor();
  hello.software_version = text(from.getSoftwareVersion());
  hello.role = enumerator(from.getRole(), PeerRole::Client, "role");
  hello.name = text(from.getName());
  hello.host = text(from.getHost());
  hello.process_id = from.getProcessId();
  hello.incarnation = Incarnation{from.getIncarnation()};
  hello.peer = Incarnation{from.getPeer()};
  hello.received_through = from.getReceivedThrough();
  hello.starts_as_users = from.getStartsAsUsers();
  return hello;
}

}  // namespace
}  // namespace wire

FramePayloadPtr encode(const Introduction& introduction) {
  return wire::build<schema::Introduction>(512, [&](schema::Introduction::Builder root) {
    std::visit([&](const auto& message) { wire::write(message, root); }, introduction);
  });
}

Result<Introduction> decode_introduction(std::span<const std::byte> bytes) {
  return wire::parse<schema::Introduction, Introduction>(
      bytes, [](schema::Introduction::Reader root) { return wire::read_introduction(root); });
}

FramePayloadPtr encode(std::span<const FromWorker> messages) {
  std::size_t bytes = 64;
  for (const FromWorker& message : messages) bytes += wire_size(message);
  return wire::build<schema::FromWorkerFrame>(bytes, [&](schema::FromWorkerFrame::Builder root) {
    auto list = root.initMessages(static_cast<unsigned>(messages.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      std::visit([&](const auto& message) { wire::write(message, list[i]); }, messages[i]);
  });
}

Result<std::vector<FromWorker>> decode_from_worker(std::span<const std::byte> bytes) {
  return wire::parse<schema::FromWorkerFrame, std::vector<FromWorker>>(bytes, [](schema::FromWorkerFrame::Reader root) {
    std::vector<FromWorker> messages;
    for (const auto entry : root.getMessages()) wire::read_into(entry, messages);
    return messages;
  });
}

std::size_t wire_size(const FromWorker& message) {
  std::size_t bytes = 96;
  if (const auto* batch = std::get_if<ReportBatch>(&message)) {
    bytes += batch->replicas.size() * 16 + batch->loads.size() * 48 + (batch->counters.any() ? 192 : 0);
    for (const JobReports& job : batch->jobs) {
      bytes += 96 + job.attempts.size() * 24 + job.outputs.size() * 16 + job.traces.size() * 56;
      for (const FailureDetail& failure : job.failures)
        bytes += 80 + failure.message.size() + failure.output_tail.size() + failure.detail.size();
    }
  } else if (const auto* claim = std::get_if<WorkerClaim>(&message)) {
    for (const ClaimedJob& job : claim->jobs) bytes += 96 + job.attempts.size() * 17 + job.data.size() * 14;
  } else if (const auto* log = std::get_if<LogAnswer>(&message)) {
    bytes += log->lines.size();
  } else if (const auto* description = std::get_if<Register>(&message)) {
    bytes += 256 + description->bands.size() * 320 + description->operators.size() * 64;
    if (description->crash) bytes += 64 + description->crash->message.size();
  }
  return bytes;
}

}  // namespace penstock
