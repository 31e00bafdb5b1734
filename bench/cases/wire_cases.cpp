// Encoding and decoding of messages.
#include <vector>

#include "bench/cases/cases.hpp"
#include "bench/graphs/graphs.hpp"
#include "common/wire/codec.hpp"

namespace penstock::bench {
namespace {

constexpr std::uint32_t kBatch = 512;

ToWorker assign_batch() {
  AssignBatch batch;
  batch.job = JobId{1};
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    Assignment assignment;
    assignment.subtask = SubtaskIndex{1000 + i};
    assignment.template_index = TemplateIndex{0};
    assignment.priority = ~i;
    assignment.attempt = Attempt{1};
    assignment.band = BandIndex{0};
    assignment.cached = true;
    assignment.input_count = 1;
    batch.assignments.push_back(assignment);
    AssignedInput input;
    input.producer = SubtaskIndex{i};
    batch.inputs.push_back(input);
  }
  return batch;
}

FromWorker report_batch() {
  ReportBatch batch;
  batch.number = 1;
  batch.jobs.push_back(JobReports{JobId{1}, {}, {}, {}, {}});
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    AttemptReport report;
    report.subtask = SubtaskIndex{i};
    report.attempt = Attempt{1};
    report.band = BandIndex{0};
    batch.jobs.back().attempts.push_back(report);
  }
  return batch;
}

FromClient graph_chunk() {
  SubmitChunk chunk;
  chunk.first = chunk.last = true;
  chunk.graph = build_graph(Shape::Stencil, kBatch, 16);
  return chunk;
}

template <class Message, Message (*kMake)()>
std::uint64_t encode_batch(std::uint64_t count, Meter& meter) {
  const std::vector<Message> messages{kMake()};
  meter.resume();
  for (std::uint64_t i = 0; i < count; i += kBatch) keep(encode(std::span{messages}));
  meter.pause();
  return (count + kBatch - 1) / kBatch * kBatch;
}

template <class Message, Message (*kMake)(), auto kDecode>
std::uint64_t decode_batch(std::uint64_t count, Meter& meter) {
  const std::vector<Message> messages{kMake()};
  const FramePayloadPtr payload = encode(std::span{messages});
  meter.resume();
  for (std::uint64_t i = 0; i < count; i += kBatch) {
    const auto decoded = kDecode(payload->bytes());
    PENSTOCK_CHECK(static_cast<bool>(decoded));
  }
  meter.pause();
  return (count + kBatch - 1) / kBatch * kBatch;
}

// The fence around 16 KiB: header written, read and checked against the bytes.
std::uint64_t frame_round_trip(std::uint64_t count, Meter& meter) {
  const std::vector<std::uint64_t> words(2048, 0x0123456789abcdefULL);
  const LinkHeader link{Incarnation{1}, 2, 3};
  meter.resume();
  for (std::uint64_t i = 0; i < count; ++i) {
    const FramePayload payload{words};
    const FrameHeaderBytes bytes = write_header(FrameKind::Messages, link, payload);
    const Result<FrameHeader> header = read_header(bytes, WireConfig{});
    PENSTOCK_CHECK(header && check_payload(bytes, *header, payload.bytes()));
  }
  meter.pause();
  return count;
}

constexpr Case kCases[] = {
    {"frame/16_kib", frame_round_trip},
    {"codec/encode_assignment", encode_batch<ToWorker, assign_batch>},
    {"codec/decode_assignment", decode_batch<ToWorker, assign_batch, decode_to_worker>},
    {"codec/encode_report", encode_batch<FromWorker, report_batch>},
    {"codec/decode_report", decode_batch<FromWorker, report_batch, decode_from_worker>},
    {"codec/encode_graph", encode_batch<FromClient, graph_chunk>},
    {"codec/decode_graph", decode_batch<FromClient, graph_chunk, decode_from_client>},
};

}  // namespace

std::span<const Case> wire_cases() { return kCases; }

}  // namespace penstock::bench
