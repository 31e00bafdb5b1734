#include "common/wire/codec.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "common/base/rng.hpp"
#include "tests/unit/common/wire/wire_samples.hpp"

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

TEST(Codec, NobodyIsToldToWaitForLongerThanAnHour) {
  const std::vector<ToClient> told{SubmitReply{.retry_after = std::chrono::hours{2}}};
  const auto heard = decode_to_client(encode(std::span{told})->bytes()).value();
  EXPECT_EQ(std::get<SubmitReply>(heard.at(0)).retry_after, std::chrono::hours{1});
}

/// As they come back.
std::vector<AttemptReport> through_the_wire(const std::vector<Attempt>& attempts, std::size_t& bytes) {
  ReportBatch batch;
  batch.jobs.resize(1);
  for (const Attempt attempt : attempts) {
    AttemptReport report;
    report.attempt = attempt;
    batch.jobs[0].attempts.push_back(report);
  }
  const FromWorker message{batch};
  const FramePayloadPtr encoded = encode(std::span{&message, 1});
  bytes = encoded->bytes().size();
  return std::get<ReportBatch>(decode_from_worker(Copy{encoded->bytes()}.bytes()).value().front()).jobs[0].attempts;
}

// Issue 21, point 3: 16 bits are too few, and 64 for each would be too many.
TEST(Codec, AttemptsKeepTheir64BitsAndCostThemOnlyWhereTheyDiffer) {
  const Attempt late{(std::uint64_t{6} << 32U) + 1};
  std::size_t of_first_term = 0;
  std::size_t of_later_term = 0;
  std::size_t of_both = 0;
  EXPECT_EQ(through_the_wire(std::vector<Attempt>(100, Attempt{65535}), of_first_term).back().attempt, Attempt{65535});
  EXPECT_EQ(through_the_wire(std::vector<Attempt>(100, late), of_later_term).back().attempt, late);
  std::vector<Attempt> mixed(100, late);
  mixed.back() = Attempt{65536};
  const std::vector<AttemptReport> back = through_the_wire(mixed, of_both);
  EXPECT_EQ(back.front().attempt, late);
  EXPECT_EQ(back.back().attempt, Attempt{65536});
  EXPECT_LE(of_later_term, of_first_term + 16);
  EXPECT_LE(of_both, of_first_term + 8 * 100 + 16);
}

TEST(Codec, SlotsOnMoreDevicesThanABandMayHaveAreRefused) {
  EntitlementBatch plan{1, {{JobId{1}, BandIndex{0}, kOneSlot, 0}}};
  for (const std::size_t devices : {kBandDevicesMax, kBandDevicesMax + 1}) {
    plan.entitlements[0].device_slots.assign(devices, 500);
    const ToWorker message{plan};
    const auto back = decode_to_worker(Copy{encode(std::span{&message, 1})->bytes()}.bytes());
    EXPECT_EQ(back.has_value(), devices == kBandDevicesMax);
  }
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
  const FramePayloadPtr samples[] = {encode(std::span{to_worker}), encode(std::span{from_worker}),
                                     encode(std::span{from_client}), encode(std::span{to_client}),
                                     encode(all_introductions()[0])};
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

TEST(CodecHostile, ABandWithMoreDevicesThanASetHoldsIsRefused) {
  const auto is_read = [](std::size_t devices) {
    Register description;
    BandDescription& band = description.bands.emplace_back();
    band.capacity.slots = kOneSlot;
    band.devices.resize(devices);
    const FromWorker message{description};
    return decode_from_worker(Copy{encode(std::span{&message, 1})->bytes()}.bytes()).has_value();
  };
  EXPECT_TRUE(is_read(kBandDevicesMax));
  EXPECT_FALSE(is_read(kBandDevicesMax + 1));
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

TEST(Codec, AJobNamesTheRunThatSubmitsIt) {
  SubmitAgain again{1, {}, {}, {}};
  again.spec.parent =
      Seldom{ParentRun{{JobId{7}, SubtaskIndex{8}}, Attempt{(std::uint64_t{3} << 32U) + 9}, {10, 11}, 12}};
  const FromClient message{again};
  const FramePayloadPtr encoded = encode(std::span{&message, 1});
  EXPECT_EQ(decode_from_client(Copy{encoded->bytes()}.bytes()).value(), std::vector<FromClient>{message});
  EXPECT_GE(wire_size(message) + 64, encoded->bytes().size());
}

TEST(Codec, AJobHasSecretsThatCountForItsSize) {
  SubmitAgain again{1, {}, {}, {}};
  again.spec.secrets = Seldom{std::vector<Secret>{{"KEY", std::string(5000, 'x')}, {"TOKEN", ""}}};
  const FromClient message{again};
  const FramePayloadPtr encoded = encode(std::span{&message, 1});
  EXPECT_EQ(decode_from_client(Copy{encoded->bytes()}.bytes()).value(), std::vector<FromClient>{message});
  EXPECT_GE(wire_size(message) + 64, encoded->bytes().size());
}

TEST(Codec, SlotsThatAreLentAndWantedAgainAreToldAsSuch) {
  JobReports reports;
  reports.job = JobId{3};
  for (const Outcome outcome : {Outcome::Started, Outcome::Lent, Outcome::Wanted, Outcome::Succeeded}) {
    AttemptReport& report = reports.attempts.emplace_back();
    report.subtask = SubtaskIndex{static_cast<std::uint32_t>(reports.attempts.size())};
    report.attempt = Attempt{1};
    report.outcome = outcome;
  }
  ReportBatch batch;
  batch.jobs = {reports};
  const FromWorker message{batch};
  EXPECT_EQ(decode_from_worker(Copy{encode(std::span{&message, 1})->bytes()}.bytes()).value(),
            std::vector<FromWorker>{message});
}

// Faults F18, F20: a frame of few bytes that stands for gigabytes.
TEST(CodecHostile, ManyGraphsThatLeaveTheirColumnsOutAreRefusedTogether) {
  SubmitChunk chunk{1, true, false, {}, {}};
  chunk.graph.templates = {Template{}};
  chunk.graph.template_of.assign(std::size_t{9} << 20U, 0);
  chunk.graph.input_offsets.assign((std::size_t{9} << 20U) + 1, 0);
  const std::vector<FromClient> one{chunk};
  EXPECT_TRUE(decode_from_client(Copy{encode(std::span{one})->bytes()}.bytes()).has_value());
  const std::vector<FromClient> two{chunk, chunk};
  const FramePayloadPtr small = encode(std::span{two});
  EXPECT_LT(small->bytes().size(), 4096U);
  EXPECT_FALSE(decode_from_client(Copy{small->bytes()}.bytes()).has_value());
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
