// Codec of the messages between clients and supervisors.
#include "common/wire/codec_parts.hpp"

namespace penstock {
namespace wire {
namespace {

void write_selector(const JobSelector& selector, schema::JobSelector::Builder out) {
  out.setId(selector.id.value());
  out.setName(text(selector.name));
}

JobSelector read_selector(schema::JobSelector::Reader in) { return {JobId{in.getId()}, text(in.getName())}; }

void write(const SubmitChunk& message, schema::FromClient::Builder root) {
  auto out = root.initSubmit();
  out.setSubmission(message.submission);
  out.setFirst(message.first);
  out.setLast(message.last);
  write_spec(message.spec, out.initSpec());
  write_graph(message.graph, out.initGraph());
  out.setWholeSubtasks(message.whole.subtasks);
  out.setWholeEdges(message.whole.edges);
  out.setWholeTemplates(message.whole.templates);
  out.setWholePayloadBytes(message.whole.payload_bytes);
  out.setWholeNameBytes(message.whole.name_bytes);
  out.setWholeWanted(message.whole.wanted);
}

void write(const SubmitAgain& message, schema::FromClient::Builder root) {
  auto out = root.initSubmitAgain();
  out.setSubmission(message.submission);
  write_selector(message.like, out.initLike());
  write_spec(message.spec, out.initSpec());
  out.setGraphLow(message.graph.low);
  out.setGraphHigh(message.graph.high);
}

void write(const AttachJob& message, schema::FromClient::Builder root) {
  auto out = root.initAttach();
  out.setRequest(message.request);
  write_selector(message.job, out.initJob());
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
}

void write(const ReleaseJob& message, schema::FromClient::Builder root) {
  auto out = root.initRelease();
  out.setJob(message.job.value());
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
}

void write(const UnfollowJob& message, schema::FromClient::Builder root) {
  auto out = root.initUnfollow();
  out.setJob(message.job.value());
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
}

void write(const ReleaseOutputs& message, schema::FromClient::Builder root) {
  auto out = root.initReleaseOutputs();
  out.setJob(message.job.value());
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
  write_ranges(message.subtasks, out.initSubtasks(static_cast<unsigned>(message.subtasks.size() * 2)));
}

void write(const AdminRequest& message, schema::FromClient::Builder root) {
  auto out = root.initAdmin();
  out.setRequest(message.request);
  out.setCommand(text(message.command));
  write_texts(message.arguments, out.initArguments(static_cast<unsigned>(message.arguments.size())));
  out.setWho(text(message.who));
}

void read_into(schema::FromClient::Reader in, std::vector<FromClient>& messages) {
  switch (in.which()) {
    case schema::FromClient::SUBMIT: {
      const auto from = in.getSubmit();
      messages.emplace_back(SubmitChunk{from.getSubmission(), from.getFirst(), from.getLast(),
                                        read_spec(from.getSpec()), read_graph(from.getGraph()),
                                        GraphTotals{from.getWholeSubtasks(), from.getWholeEdges(),
                                                    from.getWholeTemplates(), from.getWholePayloadBytes(),
                                                    from.getWholeNameBytes(), from.getWholeWanted()}});
      return;
    }
    case schema::FromClient::SUBMIT_AGAIN: {
      const auto from = in.getSubmitAgain();
      messages.emplace_back(SubmitAgain{from.getSubmission(), read_selector(from.getLike()), read_spec(from.getSpec()),
                                        GraphHash{from.getGraphLow(), from.getGraphHigh()}});
      return;
    }
    case schema::FromClient::ATTACH:
      messages.emplace_back(AttachJob{in.getAttach().getRequest(), read_selector(in.getAttach().getJob()),
                                      read_identity(in.getAttach().getIdentity())});
      return;
    case schema::FromClient::RELEASE:
      messages.emplace_back(
          ReleaseJob{JobId{in.getRelease().getJob()}, read_identity(in.getRelease().getIdentity())});
      return;
    case schema::FromClient::ADMIN:
      messages.emplace_back(AdminRequest{in.getAdmin().getRequest(), text(in.getAdmin().getCommand()),
                                         read_texts(in.getAdmin().getArguments()), text(in.getAdmin().getWho())});
      return;
    case schema::FromClient::UNFOLLOW:
      messages.emplace_back(
          UnfollowJob{JobId{in.getUnfollow().getJob()}, read_identity(in.getUnfollow().getIdentity())});
      return;
    case schema::FromClient::RELEASE_OUTPUTS: {
      const auto from = in.getReleaseOutputs();
      messages.emplace_back(
          ReleaseOutputs{JobId{from.getJob()}, read_identity(from.getIdentity()), read_ranges(from.getSubtasks())});
      return;
    }
  }
}

void write_value(const Value& value, schema::Value::Builder out) {
  if (const bool* boolean = value.boolean()) {
    out.setBoolean(*boolean);
  } else if (const std::int64_t* integer = value.integer()) {
    out.setInteger(*integer);
  } else if (const double* number = value.number()) {
    out.setNumber(*number);
  } else if (const std::string* string = value.text()) {
    out.setText(text(*string));
  } else if (const Value::List* list = value.list()) {
    auto entries = out.initList(static_cast<unsigned>(list->size()));
    for (unsigned i = 0; i < entries.size(); ++i) write_value((*list)[i], entries[i]);
  } else if (const Value::Record* record = value.record()) {
    auto fields = out.initRecord(static_cast<unsigned>(record->size()));
    for (unsigned i = 0; i < fields.size(); ++i) {
      fields[i].setName(text((*record)[i].first));
      write_value((*record)[i].second, fields[i].initValue());
    }
  } else {
    out.setNull();
  }
}

// Depth is bounded by the reader's nesting limit.
Value read_value(schema::Value::Reader in) {
  switch (in.which()) {
    case schema::Value::NULL_: return {};
    case schema::Value::BOOLEAN: return in.getBoolean();
    case schema::Value::INTEGER: return std::int64_t{in.getInteger()};
    case schema::Value::NUMBER: return in.getNumber();
    case schema::Value::TEXT: return text(in.getText());
    case schema::Value::LIST: {
      Value::List list;
      for (const auto entry : in.getList()) list.push_back(read_value(entry));
      return list;
    }
    case schema::Value::RECORD: {
      Value::Record record;
      for (const auto field : in.getRecord()) record.emplace_back(text(field.getName()), read_value(field.getValue()));
      return record;
    }
  }
  return {};
}

std::size_t value_size(const Value& value) {
  std::size_t bytes = 32;
  if (const std::string* string = value.text()) bytes += string->size();
  if (const Value::List* list = value.list())
    for (const Value& entry : *list) bytes += value_size(entry);
  if (const Value::Record* record = value.record())
    for (const auto& [name, entry] : *record) bytes += 24 + name.size() + value_size(entry);
  return bytes;
}

/// A peer may say anything; nobody waits for longer.
constexpr std::uint64_t kRetryAfterMaxUs = 3'600'000'000;

std::uint64_t microseconds_of(Duration wait) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(wait).count());
}

Duration wait_of(std::uint64_t microseconds) {
  return std::chrono::microseconds{static_cast<std::int64_t>(std::min(microseconds, kRetryAfterMaxUs))};
}

void write(const SubmitReply& message, schema::ToClient::Builder root) {
  auto out = root.initSubmitReply();
  out.setSubmission(message.submission);
  out.setJob(message.job.value());
  out.setExisted(message.existed);
  write_error(message.refusal, out.initRefusal());
  out.setOurs(message.ours);
  out.setRetryAfterUs(microseconds_of(message.retry_after));
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
}

void write(const AttachReply& message, schema::ToClient::Builder root) {
  auto out = root.initAttachReply();
  out.setRequest(message.request);
  out.setJob(message.job.value());
  out.setSubtaskCount(message.subtask_count);
  write_error(message.refusal, out.initRefusal());
  out.setRetryAfterUs(microseconds_of(message.retry_after));
  if (message.identity.valid()) write_identity(message.identity, out.initIdentity());
}

void write(const JobProgress& message, schema::ToClient::Builder root) {
  auto out = root.initProgress();
  out.setJob(message.job.value());
  out.setState(static_cast<std::uint8_t>(message.state));
  write_counts(message.counts, out.initCounts());
  write_ranges(message.succeeded, out.initSucceeded(static_cast<unsigned>(message.succeeded.size() * 2)));
  write_ranges(message.cancelled, out.initCancelled(static_cast<unsigned>(message.cancelled.size() * 2)));
  write_failures(message.failures, out.initFailures(static_cast<unsigned>(message.failures.size())));
  write_outputs(message.outputs, out.initOutputs(static_cast<unsigned>(message.outputs.size())));
  if (!message.traces.empty()) {
    auto traces = out.initTraces(static_cast<unsigned>(message.traces.size()));
    for (unsigned i = 0; i < traces.size(); ++i) {
      traces[i].setWorker(message.traces[i].worker.value());
      write_trace(message.traces[i].run, traces[i].initRun());
    }
  }
  write_error(message.error, out.initError());
}

JobProgress read_progress(schema::ToClient::Progress::Reader in) {
  JobProgress progress;
  progress.job = JobId{in.getJob()};
  progress.state = enumerator(in.getState(), JobState::Cancelled, "job state");
  progress.counts = read_counts(in.getCounts());
  progress.succeeded = read_ranges(in.getSucceeded());
  progress.cancelled = read_ranges(in.getCancelled());
  progress.failures = read_failures(in.getFailures());
  progress.outputs = read_outputs(in.getOutputs());
  for (const auto entry : in.getTraces())
    progress.traces.push_back({WorkerId{entry.getWorker()}, read_trace(entry.getRun())});
  progress.error = read_error(in.getError());
  return progress;
}

void write(const AdminAnswer& message, schema::ToClient::Builder root) {
  auto out = root.initAnswer();
  out.setRequest(message.request);
  write_value(message.value, out.initValue());
  write_error(message.refusal, out.initRefusal());
  out.setRetryAfterUs(microseconds_of(message.retry_after));
}

void read_into(schema::ToClient::Reader in, std::vector<ToClient>& messages) {
  switch (in.which()) {
    case schema::ToClient::SUBMIT_REPLY: {
      const auto from = in.getSubmitReply();
      messages.emplace_back(SubmitReply{from.getSubmission(), JobId{from.getJob()}, from.getExisted(),
                                        read_error(from.getRefusal()), from.getOurs(),
                                        read_identity(from.getIdentity()), wait_of(from.getRetryAfterUs())});
      return;
    }
    case schema::ToClient::ATTACH_REPLY: {
      const auto from = in.getAttachReply();
      messages.emplace_back(AttachReply{from.getRequest(), JobId{from.getJob()}, from.getSubtaskCount(),
                                        read_error(from.getRefusal()), read_identity(from.getIdentity()),
                                        wait_of(from.getRetryAfterUs())});
      return;
    }
    case schema::ToClient::PROGRESS: messages.emplace_back(read_progress(in.getProgress())); return;
    case schema::ToClient::ANSWER: {
      const auto from = in.getAnswer();
      messages.emplace_back(AdminAnswer{from.getRequest(), read_value(from.getValue()), read_error(from.getRefusal()),
                                        wait_of(from.getRetryAfterUs())});
      return;
    }
  }
}

}  // namespace
}  // namespace wire

FramePayloadPtr encode(std::span<const FromClient> messages) {
  std::size_t bytes = 64;
  for (const FromClient& message : messages) bytes += wire_size(message);
  return wire::build<schema::FromClientFrame>(bytes, [&](schema::FromClientFrame::Builder root) {
    auto list = root.initMessages(static_cast<unsigned>(messages.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      std::visit([&](const auto& message) { wire::write(message, list[i]); }, messages[i]);
  });
}

FramePayloadPtr encode(std::span<const ToClient> messages) {
  std::size_t bytes = 64;
  for (const ToClient& message : messages) bytes += wire_size(message);
  return wire::build<schema::ToClientFrame>(bytes, [&](schema::ToClientFrame::Builder root) {
    auto list = root.initMessages(static_cast<unsigned>(messages.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      std::visit([&](const auto& message) { wire::write(message, list[i]); }, messages[i]);
  });
}

Result<std::vector<FromClient>> decode_from_client(std::span<const std::byte> bytes) {
  return wire::parse<schema::FromClientFrame, std::vector<FromClient>>(bytes, [](schema::FromClientFrame::Reader root) {
    std::vector<FromClient> messages;
    // A chunk that leaves its columns out is a few bytes that stand for many; a frame is full of them at most once.
    constexpr std::size_t kFrameSubtasksMax = std::size_t{16} << 20U;
    std::size_t subtasks = 0;
    for (const auto entry : root.getMessages()) {
      wire::read_into(entry, messages);
      if (const auto* chunk = messages.empty() ? nullptr : std::get_if<SubmitChunk>(&messages.back()))
        subtasks += chunk->graph.size();
      if (subtasks > kFrameSubtasksMax) wire::refuse("messages");
    }
    return messages;
  });
}

Result<std::vector<ToClient>> decode_to_client(std::span<const std::byte> bytes) {
  return wire::parse<schema::ToClientFrame, std::vector<ToClient>>(bytes, [](schema::ToClientFrame::Reader root) {
    std::vector<ToClient> messages;
    for (const auto entry : root.getMessages()) wire::read_into(entry, messages);
    return messages;
  });
}

std::size_t wire_size(const FromClient& message) {
  std::size_t bytes = 328;
  if (const auto* chunk = std::get_if<SubmitChunk>(&message))
    bytes += chunk->spec.name.size() + chunk->spec.owner.size() + chunk->spec.policy.qos.size() +
             chunk->spec.policy.queue.size() + wire::size_of(*chunk->spec.secrets) + wire::size_of(chunk->graph);
  if (const auto* again = std::get_if<SubmitAgain>(&message)) bytes += wire::size_of(*again->spec.secrets);
  if (const auto* request = std::get_if<AdminRequest>(&message))
    for (const std::string& argument : request->arguments) bytes += argument.size() + 24;
  return bytes;
}

std::size_t wire_size(const ToClient& message) {
  std::size_t bytes = 256;
  if (const auto* progress = std::get_if<JobProgress>(&message)) {
    bytes += (progress->succeeded.size() + progress->cancelled.size()) * 8 + progress->traces.size() * 64;
    for (const SubtaskFailure& failure : progress->failures) {
      bytes += 160 + failure.name.size() + failure.last.message.size() + failure.last.output_tail.size() +
               failure.last.detail.size();
      for (const std::string& line : failure.history) bytes += line.size() + 24;
    }
    for (const OutputLocation& output : progress->outputs) bytes += 40 + output.data_address.size();
  } else if (const auto* answer = std::get_if<AdminAnswer>(&message)) {
    bytes += wire::value_size(answer->value);
  }
  return bytes;
}

}  // namespace penstock
