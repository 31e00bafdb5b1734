// Codec of the messages between workers and runners.
#include "common/wire/codec_runner.hpp"

#include <xxhash.h>

#include "common/base/error_code_of.hpp"
#include "common/wire/codec_parts.hpp"
#include "schema/runner.capnp.h"

namespace penstock {
namespace {

using wire::refuse;

std::string_view view(capnp::Data::Reader reader) {
  return {reinterpret_cast<const char*>(reader.begin()), reader.size()};
}

capnp::Data::Reader bytes_of(std::string_view text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

void write_datum(const RunnerDatum& datum, schema::RunnerDatum::Builder out) {
  if (datum.descriptor == RunnerDatum::kInline) return out.setBytes(bytes_of(datum.bytes));
  auto segment = out.initSegment();
  segment.setDescriptor(datum.descriptor);
  segment.setSize(datum.size);
}

RunnerDatum read_datum(schema::RunnerDatum::Reader in, std::size_t descriptors) {
  RunnerDatum datum;
  if (in.isBytes()) {
    datum.bytes = view(in.getBytes());
    return datum;
  }
  datum.descriptor = in.getSegment().getDescriptor();
  datum.size = in.getSegment().getSize();
  if (datum.descriptor >= descriptors) refuse("a segment that did not come with the message");
  return datum;
}

std::size_t size_of(const RunnerDatum& datum) { return 48 + datum.bytes.size(); }

std::size_t size_of(const ToRunner& message) {
  std::size_t size = 64 + message.forgotten.size() * 8;
  if (message.slot) size += 64 + message.slot->message.size() + message.slot->remedy.size();
  for (const RunnerProgram& program : message.programs) size += 48 + program.content.size();
  for (const RunnerRun& run : message.runs) {
    size += 120 + run.payload.size();
    for (const RunnerDatum& input : run.inputs) size += size_of(input);
  }
  return size;
}

void write_run(const RunnerRun& run, schema::RunnerRun::Builder out) {
  out.setTicket(run.ticket);
  out.setProgram(run.program);
  out.setJob(run.id.job.value());
  out.setSubtask(run.id.index.value());
  out.setAttempt(wire::low_of(run.attempt));
  out.setAttemptRest(wire::rest_of(run.attempt));
  out.setOutputCount(run.output_count);
  out.setPayload(bytes_of(run.payload));
  auto inputs = out.initInputs(static_cast<unsigned>(run.inputs.size()));
  for (unsigned i = 0; i < inputs.size(); ++i) write_datum(run.inputs[i], inputs[i]);
  if (run.identity.valid()) wire::write_identity(run.identity, out.initIdentity());
  out.setMayYield(run.may_yield);
}

RunnerRun read_run(schema::RunnerRun::Reader in, std::size_t descriptors) {
  RunnerRun run;
  run.ticket = in.getTicket();
  run.program = in.getProgram();
  run.id = {JobId{in.getJob()}, SubtaskIndex{in.getSubtask()}};
  run.attempt = wire::attempt_of(in.getAttempt(), in.getAttemptRest());
  run.output_count = in.getOutputCount();
  run.payload = view(in.getPayload());
  for (const schema::RunnerDatum::Reader input : in.getInputs()) run.inputs.push_back(read_datum(input, descriptors));
  run.identity = wire::read_identity(in.getIdentity());
  run.may_yield = in.getMayYield();
  return run;
}

void write_answer(const RunnerSlotAnswer& answer, schema::RunnerSlotAnswer::Builder out) {
  out.setTicket(answer.ticket);
  if (!answer.refused) return;
  out.setCode(static_cast<std::uint16_t>(*answer.refused));
  out.setMessage(bytes_of(answer.message));
  out.setRemedy(bytes_of(answer.remedy));
}

RunnerSlotAnswer read_answer(schema::RunnerSlotAnswer::Reader in) {
  RunnerSlotAnswer answer;
  answer.ticket = in.getTicket();
  // A reason that is not known here is a refusal all the same.
  if (in.getCode() != 0) answer.refused = error_code_of(in.getCode()).value_or(ErrorCode::Unsupported);
  answer.message = view(in.getMessage());
  answer.remedy = view(in.getRemedy());
  return answer;
}

void write_end(const RunnerEnd& end, schema::RunnerEnd::Builder out) {
  out.setTicket(end.ticket);
  out.setSucceeded(end.succeeded);
  out.setInterrupted(end.interrupted);
  out.setRunNs(end.run_ns);
  auto outputs = out.initOutputs(static_cast<unsigned>(end.outputs.size()));
  for (unsigned i = 0; i < outputs.size(); ++i) {
    outputs[i].setOutput(end.outputs[i].output);
    write_datum(end.outputs[i].datum, outputs[i].initDatum());
  }
  if (!end.message.empty()) out.setMessage(bytes_of(end.message));
  if (!end.detail.empty()) out.setDetail(bytes_of(end.detail));
  out.setPeakBytes(end.peak_bytes);
  if (end.code) out.setCode(static_cast<std::uint16_t>(*end.code));
}

RunnerEnd read_end(schema::RunnerEnd::Reader in, std::size_t descriptors) {
  RunnerEnd end;
  end.ticket = in.getTicket();
  end.succeeded = in.getSucceeded();
  end.interrupted = in.getInterrupted();
  end.run_ns = in.getRunNs();
  for (const schema::RunnerOutput::Reader output : in.getOutputs())
    end.outputs.push_back({output.getOutput(), read_datum(output.getDatum(), descriptors)});
  end.message = view(in.getMessage());
  end.detail = view(in.getDetail());
  end.peak_bytes = in.getPeakBytes();
  end.code = error_code_of(in.getCode());
  return end;
}

}  // namespace

std::uint64_t hash_of_program(std::string_view content) { return XXH3_64bits(content.data(), content.size()); }

std::vector<std::uint64_t> encode_runner(const ToRunner& message) {
  return wire::build_words<schema::ToRunner>(size_of(message), [&](schema::ToRunner::Builder root) {
    if (!message.programs.empty()) {
      auto programs = root.initPrograms(static_cast<unsigned>(message.programs.size()));
      for (unsigned i = 0; i < programs.size(); ++i) {
        programs[i].setHash(message.programs[i].hash);
        programs[i].setContent(bytes_of(message.programs[i].content));
      }
    }
    auto runs = root.initRuns(static_cast<unsigned>(message.runs.size()));
    for (unsigned i = 0; i < runs.size(); ++i) write_run(message.runs[i], runs[i]);
    if (!message.forgotten.empty())
      wire::write_column(message.forgotten, root.initForgotten(static_cast<unsigned>(message.forgotten.size())));
    if (message.slot) write_answer(*message.slot, root.initSlot());
  });
}

std::vector<std::uint64_t> encode_runner(const FromRunner& message) {
  std::size_t size = 128;
  if (const auto* ends = std::get_if<RunnerEnds>(&message))
    for (const RunnerEnd& end : ends->ends) {
      size += 96 + end.message.size() + end.detail.size();
      for (const RunnerOutput& output : end.outputs) size += 24 + size_of(output.datum);
    }
  return wire::build_words<schema::FromRunner>(size, [&](schema::FromRunner::Builder root) {
    if (const auto* hello = std::get_if<RunnerHello>(&message)) {
      auto out = root.initHello();
      out.setMajor(hello->major);
      out.setMinor(hello->minor);
      out.setLanguage(wire::text(hello->language));
      out.setVersion(wire::text(hello->version));
      return;
    }
    if (const auto* slot = std::get_if<RunnerSlot>(&message)) {
      auto out = root.initSlot();
      out.setTicket(slot->ticket);
      out.setLends(slot->lends);
      return;
    }
    const RunnerEnds& ends = std::get<RunnerEnds>(message);
    auto out = root.initEnds(static_cast<unsigned>(ends.ends.size()));
    for (unsigned i = 0; i < out.size(); ++i) write_end(ends.ends[i], out[i]);
  });
}

Result<ToRunner> decode_to_runner(std::span<const std::byte> bytes, std::size_t descriptors) {
  return wire::parse<schema::ToRunner, ToRunner>(bytes, [&](schema::ToRunner::Reader root) {
    ToRunner message;
    for (const schema::RunnerProgram::Reader program : root.getPrograms())
      message.programs.push_back({program.getHash(), view(program.getContent())});
    for (const schema::RunnerRun::Reader run : root.getRuns()) message.runs.push_back(read_run(run, descriptors));
    wire::read_column(root.getForgotten(), message.forgotten);
    if (root.hasSlot()) message.slot = read_answer(root.getSlot());
    return message;
  });
}

Result<FromRunner> decode_from_runner(std::span<const std::byte> bytes, std::size_t descriptors) {
  return wire::parse<schema::FromRunner, FromRunner>(bytes, [&](schema::FromRunner::Reader root) -> FromRunner {
    switch (root.which()) {
      case schema::FromRunner::HELLO: {
        const auto hello = root.getHello();
        return RunnerHello{hello.getMajor(), hello.getMinor(), wire::text(hello.getLanguage()),
                           wire::text(hello.getVersion())};
      }
      case schema::FromRunner::ENDS: {
        RunnerEnds ends;
        for (const schema::RunnerEnd::Reader end : root.getEnds()) ends.ends.push_back(read_end(end, descriptors));
        return ends;
      }
      case schema::FromRunner::SLOT: return RunnerSlot{root.getSlot().getTicket(), root.getSlot().getLends()};
    }
    refuse("a message that this worker does not know");
  });
}

}  // namespace penstock
