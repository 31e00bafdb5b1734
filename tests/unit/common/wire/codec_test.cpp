#include "common/wire/codec.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "common/base/rng.hpp"

namespace penstock {
namespace {

/// Bytes of a payload in memory of their own, aligned, so that a sanitizer sees every step beyond them.
struct Copy {
  explicit Copy(std::span<const std::byte> bytes) : words(new std::uint64_t[bytes.size() / 8 + 1]), size(bytes.size()) {
    if (!bytes.empty()) std::memcpy(words.get(), bytes.data(), bytes.size());
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span{words.get(), size / 8}); }
  std::unique_ptr<std::uint64_t[]> words;
  std::size_t size;
};

Template full_template() {
  Template t;
  t.name = "decode";
  t.runner = RunnerKind::Command;
  t.program = "/usr/bin/env";
  t.arguments = {"python3", "-c", ""};
  t.environment = {"A=1"};
  t.working_directory = "/tmp";
  t.standard_input = std::string{"in\0put", 6};
  t.payload = "abc";
  t.request.slots = MilliSlots{500};
  t.request.cpu = MilliCpu{250};
  t.request.gpu = MilliGpu{125};
  t.request.memory = kGiB;
  t.request.device_memory = kMiB;
  t.request.named = {{"licence", 2}};
  t.required = {"w", "numa-0"};
  t.preferred = {"", "numa-1"};
  t.priority = -7;
  t.attempts_max = 9;
  t.retryable = false;
  t.on_failure = OnFailure::Continue;
  t.time_limit = std::chrono::seconds{3};
  t.kill_grace = std::chrono::milliseconds{4};
  t.expected_duration = std::chrono::microseconds{5};
  t.output_count = 3;
  t.output_limit_bytes = 77;
  return t;
}

Graph full_graph() {
  Graph graph;
  graph.templates = {full_template(), Template{}};
  graph.template_of = {0, 1, 1};
  graph.input_offsets = {0, 0, 1, 3};
  graph.predecessors = {0, 0, 1};
  graph.edge_outputs = {2, EdgeKind::kOrderOnly, 0};
  graph.priorities = {1, -2, 3};
  graph.expected_ns = {10, 0, 30};
  graph.payload_offsets = {0, 1, 1, 4};
  graph.payloads = "xyz!";
  graph.name_offsets = {0, 1, 2, 3};
  graph.names = "abc";
  graph.wanted = {2};
  return graph;
}

std::vector<ToWorker> all_to_worker() {
  AssignBatch batch;
  batch.job = JobId{3};
  batch.job_priority = -1;
  batch.job_name = "name";
  batch.templates = {{TemplateIndex{1}, full_template()}};
  batch.assignments = {{SubtaskIndex{4}, TemplateIndex{1}, 0xffffffff00000001ULL, 2, 3, Attempt{5}, BandIndex{6}, 9, true}};
  batch.inputs = {{SubtaskIndex{1}, 0, InputPlace::Missing, WorkerId{}, 0}, {SubtaskIndex{2}, 7, InputPlace::Remote, WorkerId{8}, 1LL << 40}};
  batch.payloads = "pay";
  return {RegisterReply{WorkerId{9}},
          batch,
          InputNoticeBatch{JobId{1}, {{SubtaskIndex{2}, EdgeKind::kOrderOnly, WorkerId{3}, 0}, {SubtaskIndex{4}, 1, WorkerId{5}, 6}}},
          CancelBatch{JobId{1}, true, {{SubtaskIndex{2}, Attempt{3}}}, kNeverKill},
          CancelBatch{JobId{1}, false, {}, kDefaultGrace, true},
          PriorityBatch{JobId{1}, true, -5, {{SubtaskIndex{2}, 3}}},
          EntitlementBatch{7, {{JobId{1}, BandIndex{2}, MilliSlots::max(), -3}}},
          StealRequest{JobId{1}, {{SubtaskIndex{2}, Attempt{3}}}},
          DropBatch{JobId{1}, true, {{SubtaskIndex{2}, 3}}},
          ForgetJob{JobId{1}},
          ReportsApplied{88},
          Drain{false},
          ExplainQuestion{5, {JobId{6}, SubtaskIndex{7}}},
          PeerAddressBatch{{{WorkerId{3}, "10.0.0.1:77"}}}};
}

std::vector<FromWorker> all_from_worker() {
  Register description;
  description.name = "w";
  description.host = "h";
  description.data_address = "h:1";
  BandDescription band;
  band.name = "gpu-0";
  band.kind = BandKind::Gpu;
  band.capacity.slots = kOneSlot;
  band.memory_hard_limit = kGiB;
  band.numa_node = 1;
  band.device_uuid = "GPU-1";
  band.device_name = "H";
  band.pci_address = "0000:01:00.0";
  description.bands = {band};
  description.operators = {"noop", "burn"};
  description.reclaims = true;
  ReportBatch batch;
  batch.number = 12;
  FailureDetail failure{FailureClass::OutOfMemory, 3, 9, 1 << 20, SubtaskIndex{5}, "m", std::string{"\0tail", 5}};
  batch.jobs = {{JobId{1},
                 {{SubtaskIndex{2}, 3, Attempt{4}, 1, Outcome::Succeeded, ForwardResult::Hit, BandIndex{1}},
                  {SubtaskIndex{3}, 0, Attempt{1}, 0, Outcome::Failed, ForwardResult::Quota, BandIndex{0}}},
                 {{0, 55}},
                 {failure},
                 {{SubtaskIndex{2}, Attempt{4}, BandIndex{1}, SlotIndex{3}, 10, 20, 30, 40}}}};
  WorkerClaim claim{false, true, {{JobId{1}, {}, {}}, {JobId{2}, {}, {}}}};
  claim.jobs[0].attempts = {{SubtaskIndex{2}, Attempt{3}, BandIndex{1}, ClaimedStage::Waiting},
                            {SubtaskIndex{4}, Attempt{1}, BandIndex{0}, ClaimedStage::Running}};
  claim.jobs[0].data = {{SubtaskIndex{2}, 1, 77}};
  batch.replicas = {{{JobId{1}, SubtaskIndex{2}}, 3}};
  batch.loads = {{BandIndex{1}, 1, 2, 3, 4, 5, Bytes{6}, Bytes{7}}};
  return {description, batch, DrainState{true, true}, ExplainAnswer{1, true, "s", "r"}, claim};
}

std::vector<FromClient> all_from_client() {
  return {SubmitChunk{1, true, false, {"n", "o", 2, Keep::Wanted, true, true}, full_graph()},
          SubmitAgain{2, {JobId{3}, "x"}, {"y", "", 0, Keep::Sinks, false}, {4, 5}}, AttachJob{4, {JobId::none(), "z"}},
          ReleaseJob{JobId{5}}, AdminRequest{6, "jobs", {"--all", "a b"}, "ada@host"}};
}

std::vector<ToClient> all_to_client() {
  JobProgress progress;
  progress.job = JobId{1};
  progress.state = JobState::Failed;
  progress.counts = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  progress.succeeded = {{SubtaskIndex{0}, SubtaskIndex{9}}, {SubtaskIndex{11}, SubtaskIndex{11}}};
  progress.cancelled = {{SubtaskIndex{10}, SubtaskIndex{10}}};
  progress.failures = {{SubtaskIndex{12}, "k", {"line 1", "line 2"}, FailureDetail{}}};
  progress.outputs = {{SubtaskIndex{1}, 2, 3, "host:1"}};
  progress.traces = {{WorkerId{4}, {SubtaskIndex{1}, Attempt{2}, BandIndex{0}, SlotIndex{1}, 1, 2, 3, 4}}};
  progress.error = {ErrorCode::TimedOut, "s", "m", "r"};
  Value::Record record{{"null", Value{}}, {"flag", true}, {"n", 5}, {"x", 2.5}, {"list", Value::List{"a", 1}}};
  return {SubmitReply{1, JobId{2}, true, {}}, SubmitReply{1, JobId::none(), false, {ErrorCode::GraphCycle, "a", "b", "c"}},
          AttachReply{1, JobId{2}, 3, {}}, progress, AdminAnswer{9, Value{record}, {}}};
}

std::vector<Introduction> all_introductions() {
  return {Hello{1, 2, "0.1", PeerRole::Client, "n", "h", 3, Incarnation{4}, Incarnation::none(), 5},
          Welcome{1, 2, "0.1", Incarnation{6}, true, 7, std::chrono::seconds{1}, 8, 9},
          Refusal{{ErrorCode::VersionMismatch, "s", "m", "r"}}};
}

TEST(Codec, EveryMessageComesBackAsItWas) {
  const auto to_worker = all_to_worker();
  EXPECT_EQ(decode_to_worker(Copy{encode(std::span{to_worker})->bytes()}.bytes()).value(), to_worker);
  const auto from_worker = all_from_worker();
  EXPECT_EQ(decode_from_worker(Copy{encode(std::span{from_worker})->bytes()}.bytes()).value(), from_worker);
  const auto from_client = all_from_client();
  EXPECT_EQ(decode_from_client(Copy{encode(std::span{from_client})->bytes()}.bytes()).value(), from_client);
  const auto to_client = all_to_client();
  EXPECT_EQ(decode_to_client(Copy{encode(std::span{to_client})->bytes()}.bytes()).value(), to_client);
  for (const Introduction& introduction : all_introductions())
    EXPECT_EQ(decode_introduction(Copy{encode(introduction)->bytes()}.bytes()).value(), introduction);
  const Graph graph = full_graph();
  const std::vector<std::uint64_t> words = encode_graph(graph);
  EXPECT_EQ(decode_graph(std::as_bytes(std::span{words})).value(), graph);
}

TEST(Codec, AFlatGraphOfOneTemplateCostsNoBytesPerSubtask) {
  Graph graph;
  graph.templates = {Template{}};
  graph.template_of.assign(1'000'000, 0);
  graph.input_offsets.assign(1'000'001, 0);
  const std::vector<std::uint64_t> words = encode_graph(graph);
  EXPECT_LT(words.size(), 64U);
  EXPECT_EQ(decode_graph(std::as_bytes(std::span{words})).value(), graph);
}

TEST(Codec, TheEstimatedSizeIsAtLeastTheRealOne) {
  for (const ToWorker& message : all_to_worker())
    EXPECT_GE(wire_size(message) + 64, encode(std::span{&message, 1})->bytes().size()) << message.index();
  for (const FromWorker& message : all_from_worker())
    EXPECT_GE(wire_size(message) + 64, encode(std::span{&message, 1})->bytes().size()) << message.index();
  for (const FromClient& message : all_from_client())
    EXPECT_GE(wire_size(message) + 64, encode(std::span{&message, 1})->bytes().size()) << message.index();
  for (const ToClient& message : all_to_client())
    EXPECT_GE(wire_size(message) + 64, encode(std::span{&message, 1})->bytes().size()) << message.index();
}

/// Decodes bytes as each kind of message; what comes out does not matter, only that something does.
void decode_as_anything(std::span<const std::byte> bytes) {
  const Copy copy{bytes};
  (void)decode_to_worker(copy.bytes()).has_value();
  (void)decode_from_worker(copy.bytes()).has_value();
  (void)decode_from_client(copy.bytes()).has_value();
  (void)decode_to_client(copy.bytes()).has_value();
  (void)decode_introduction(copy.bytes()).has_value();
  (void)decode_graph(copy.bytes()).has_value();
}

// Faults F18: damaged and hostile bytes give an error or a message, never a crash.
TEST(CodecHostile, FlippedBitsAndTruncationsAreSurvived) {
  const auto to_worker = all_to_worker();
  const auto from_worker = all_from_worker();
  const auto from_client = all_from_client();
  const auto to_client = all_to_client();
  const FramePayloadPtr samples[] = {encode(std::span{to_worker}), encode(std::span{from_worker}), encode(std::span{from_client}),
                                     encode(std::span{to_client}), encode(all_introductions()[0])};
  Rng rng{1};
  for (const FramePayloadPtr& sample : samples)
    for (int round = 0; round < 400; ++round) {
      std::vector<std::byte> bytes{sample->bytes().begin(), sample->bytes().end()};
      for (std::uint64_t flips = 1 + rng.below(4); flips-- > 0;)
        bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1U << rng.below(8));
      if (rng.chance(1, 4)) bytes.resize(rng.below(bytes.size()) / 8 * 8);
      decode_as_anything(bytes);
    }
}

TEST(CodecHostile, RandomBytesAndAbsurdSegmentTablesAreSurvived) {
  Rng rng{2};
  for (int round = 0; round < 400; ++round) {
    std::vector<std::byte> bytes(8 * rng.below(64));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.next());
    decode_as_anything(bytes);
  }
  for (const std::uint32_t segments : {0xffffffffU, 0xfffffffeU, 0x7fffffffU, 511U, 512U}) {
    std::vector<std::byte> bytes(64, std::byte{0xff});
    std::memcpy(bytes.data(), &segments, 4);
    EXPECT_FALSE(decode_to_worker(Copy{bytes}.bytes()).has_value());
  }
  EXPECT_FALSE(decode_to_worker({}).has_value());
}

// A list of empty structs takes no bytes and could claim half a billion elements.
TEST(CodecHostile, AListThatClaimsMoreThanItsBytesIsRefused) {
  const std::vector<ToWorker> none;
  const FramePayloadPtr empty = encode(std::span{none});
  std::vector<std::byte> bytes{empty->bytes().begin(), empty->bytes().end()};
  bytes.resize(bytes.size() + 16);
  const std::uint32_t table[] = {0, static_cast<std::uint32_t>(bytes.size() / 8 - 1)};
  std::memcpy(bytes.data(), table, 8);
  // Root pointer: struct with one pointer; that pointer: list of composite, zero words, tag with 2^29 - 1 elements.
  const std::uint64_t root = 0x0001000000000000ULL;
  const std::uint64_t list = 1 | (std::uint64_t{7} << 32U);
  const std::uint64_t tag = std::uint64_t{0x7ffffffcU};
  std::memcpy(bytes.data() + 8, &root, 8);
  std::memcpy(bytes.data() + 16, &list, 8);
  std::memcpy(bytes.data() + 24, &tag, 8);
  EXPECT_FALSE(decode_to_worker(Copy{bytes}.bytes()).has_value());
}

}  // namespace
}  // namespace penstock
