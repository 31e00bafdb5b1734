#include "supervisor/store/journal_codec.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "common/protocol/graph_chunks.hpp"
#include "common/wire/frame.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::supervisor::journal_codec {
namespace {

record::SubtasksEnded some_ended() {
  record::SubtasksEnded ended;
  ended.job = JobId{7};
  ended.counts = {10, 4, 1, 2, 0, 8, 3, 1, 5'000'000'000};
  ended.succeeded = {{SubtaskIndex{0}, SubtaskIndex{2}}, {SubtaskIndex{9}, SubtaskIndex{9}}};
  ended.cancelled = {{SubtaskIndex{4}, SubtaskIndex{5}}};
  FailureDetail detail;
  detail.failure = FailureClass::UserError;
  detail.exit_code = 3;
  detail.message = "said no";
  detail.code = ErrorCode::InvalidArgument;
  detail.output_tail = std::string("\0\xff", 2);
  ended.failures = {{SubtaskIndex{3}, "key", {"attempt 1", "attempt 2"}, detail}};
  ended.outputs = {{SubtaskIndex{9}, 1, 77, "host:1"}};
  ended.made = {{SubtaskIndex{0}, 0, 5}, {SubtaskIndex{9}, 1, 77}};
  ended.checkpoints = {{SubtaskIndex{0}, Incarnation{1ULL << 63U}}, {SubtaskIndex{9}, Incarnation{2}}};
  return ended;
}

// An older version has not written it, and the job's own stays.
TEST(JournalCodec, AUserFactorThatIsNotSaidStaysUnsaid) {
  EXPECT_EQ(decode_changed(encode(record::JobChanged{JobId{7}})).value().user_factor, std::nullopt);
}

TEST(JournalCodec, AnAccountThatIsSetComesBackAlsoWhenItIsEmpty) {
  EXPECT_EQ(decode_changed(encode(record::JobChanged{JobId{7}})).value().account, std::nullopt);
  for (const std::string account : {"", "lab"})
    EXPECT_EQ(decode_changed(encode(record::JobChanged{.job = JobId{7}, .account = account})).value().account, account);
}

// Of an older version, too: none is known.
TEST(JournalCodec, SinceWhenATimeLimitCountsComesBack) {
  EXPECT_EQ(decode_changed(encode(record::JobChanged{JobId{7}})).value().limit_since_ms, 0);
  EXPECT_FALSE(decode_changed(encode(record::JobChanged{JobId{7}})).value().time_limit.has_value());
  for (const Duration limit : {Duration{0}, Duration{std::chrono::hours{2}}})
    EXPECT_EQ(decode_changed(encode(record::JobChanged{.job = JobId{7}, .time_limit = limit})).value().time_limit,
              limit);
  EXPECT_EQ(decode_changed(encode(record::JobChanged{.job = JobId{7}, .limit_since_ms = 1'800'000'000'123}))
                .value()
                .limit_since_ms,
            1'800'000'000'123);
  JobSpec spec;
  spec.time_limit = std::chrono::minutes{10};
  EXPECT_EQ(decode_accepted(encode(Accepted{JobId{7}, spec, 10, 2, 77, JobId{4}})).value().spec, spec);
}

TEST(JournalCodec, HowAPriorityWasWrittenComesBack) {
  EXPECT_EQ(decode_accepted(encode(Accepted{JobId{7}, {}, 10, 2, 77, JobId{4}, 42})).value().scale, 42);
  EXPECT_EQ(decode_changed(encode(record::JobChanged{.job = JobId{7}, .scale = 255})).value().scale, 255);
  EXPECT_EQ(decode_job_ended(encode(record::JobEnded{.job = JobId{7}, .scale = 42})).value().scale, 42);
}

TEST(JournalCodec, ThatAJobIsKeptByAnOrderComesBack) {
  EXPECT_TRUE(decode_changed(encode(record::JobChanged{.job = JobId{7}, .kept_by_order = true}))->kept_by_order);
  EXPECT_FALSE(decode_changed(encode(record::JobChanged{.job = JobId{7}}))->kept_by_order);
  EXPECT_TRUE(decode_job_ended(encode(record::JobEnded{.job = JobId{7}, .kept_by_order = true}))->kept_by_order);
  EXPECT_FALSE(decode_job_ended(encode(record::JobEnded{.job = JobId{7}}))->kept_by_order);
}

TEST(JournalCodec, TheHeadOfAGraphComesBack) {
  const Result<GraphHead> graph_head = decode_graph_head(encode(GraphHead{JobId{4}, 10, 2}));
  ASSERT_TRUE(graph_head.has_value());
  EXPECT_EQ(graph_head->brought_by, JobId{4});
  EXPECT_EQ(graph_head->subtasks, 10U);
  EXPECT_EQ(graph_head->chunks, 2U);
}

TEST(JournalCodec, EveryRecordComesBackAsItWas) {
  const Result<Head> head = decode_head(encode(Head{kFormat, JobId{12}}));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->next_job, JobId{12});

  JobSpec spec;
  spec.name = "job";
  spec.owner = "me";
  spec.priority = -3;
  spec.keep = Keep::Wanted;
  const Result<Accepted> accepted = decode_accepted(encode(Accepted{JobId{7}, spec, 10, 2, 77, JobId{4}}));
  ASSERT_TRUE(accepted.has_value());
  EXPECT_EQ(accepted->spec, spec);
  EXPECT_EQ(accepted->chunks, 2U);
  EXPECT_EQ(accepted->submitted_ms, 77);
  EXPECT_EQ(accepted->graph_of, JobId{4});
  EXPECT_FALSE(decode_accepted(encode(Accepted{JobId{7}, spec, 10, 2, 77, JobId::none()}))->graph_of.valid());

  const Graph graph = GraphBuilder{}.sources(3).join().keys({"a", "b", "c", "d"}).build();
  GraphPacker packer;
  EXPECT_EQ(decode_chunk(encode(graph, GraphPart{0, 4}, packer)).value(), graph);
  EXPECT_EQ(decode_chunk(encode(graph, GraphPart{1, 3}, packer)).value(), chunk_of(graph, 1, 3));
  EXPECT_EQ(decode_plain_chunk(encode_plain(graph)).value(), graph);
  EXPECT_EQ(decode_subtasks_ended(encode(some_ended())).value(), some_ended());

  const record::JobChanged changed{JobId{7},   5,       true, Error{ErrorCode::Cancelled, "s", "m", "r"},
                                   true,       2500,    8,    -7,
                                   "expedite", "short", true, "second",
                                   true,       7,       0,    255};
  EXPECT_EQ(decode_changed(encode(changed)).value(), changed);
  const record::PolicyKept kept{1'800'000'000'000,
                                {{"lab", "ann", {0.1, 2, 3, 4}}, {"", "", {2e9, 0, 0, 0}}},
                                {{"vision", ProjectSetting::Slots, 12},
                                 {"speech", ProjectSetting::GpuSlots, 3},
                                 {"speech", ProjectSetting::Memory, 1LL << 40},
                                 {"vision", ProjectSetting::Weight, 2500}},
                                {{"lab", 0}, {"ann", 1'000'000'000}}};
  EXPECT_EQ(decode_policy(encode(kept)).value(), kept);

  record::SubtaskChanged subtask{JobId{7}, SubtaskIndex{9}, 3, 2, 1, 3, {"attempt 1", ""}, -2, true};
  EXPECT_EQ(decode_subtask_changed(encode(subtask)).value(), subtask);
  subtask.priority.reset();
  subtask.cancelled = false;
  EXPECT_EQ(decode_subtask_changed(encode(subtask)).value(), subtask);

  record::JobEnded over{JobId{7}, spec, {}};
  over.everything.job = JobId{7};
  over.everything.state = JobState::Failed;
  over.everything.succeeded = some_ended().succeeded;
  over.everything.failures = some_ended().failures;
  over.everything.outputs = some_ended().outputs;
  over.everything.error = changed.why;
  over.submitted_ms = 1'800'000'000'000;
  over.ended_ms = 1'800'000'000'123;
  over.checkpoints = some_ended().checkpoints;
  over.unneeded = true;
  EXPECT_EQ(decode_job_ended(encode(over)).value(), over);

  record::WorkerJoined worker{WorkerId{3}, Incarnation{4}, "w", true};
  EXPECT_EQ(decode_worker(encode(worker)).value(), worker);
  for (const bool drain : {true, false}) {
    worker.drain = drain;
    EXPECT_EQ(decode_worker(encode(worker)).value(), worker);
  }
  EXPECT_EQ(decode_lost_writer(encode(record::WriterLost{Incarnation{1ULL << 63U}})).value(), Incarnation{1ULL << 63U});
}

TEST(JournalCodec, TheRunsOfAJobItsContentAndItsGraphComeBack) {
  record::JobEnded over{.job = JobId{7}};
  over.graph_of = JobId{4};
  over.spec.name_use = NameUse::Rerun;
  over.spec.content = {1ULL << 63U, 5};
  over.spec.runs = Seldom{JobRuns{3,
                                  {{JobId{1}, JobState::Failed, 1'800'000'000'000, 1'800'000'000'001},
                                   {JobId{5}, JobState::Cancelled, 1'800'000'000'002, 1'800'000'000'003}},
                                  {7, 8}}};
  const record::JobEnded back = decode_job_ended(encode(over)).value();
  EXPECT_EQ(back.graph_of, JobId{4});
  EXPECT_EQ(back.spec, over.spec);
}

TEST(JournalCodec, AJobOfAnOlderVersionHasNoContentNoRunsAndNoGraph) {
  const record::JobEnded over = decode_job_ended(encode(record::JobEnded{.job = JobId{7}})).value();
  EXPECT_FALSE(over.spec.content.valid());
  EXPECT_FALSE(over.spec.runs.any());
  EXPECT_FALSE(over.graph_of.valid());
}

TEST(JournalCodec, KeysOfWhatIsKeptComeBack) {
  record::JobEnded over{.job = JobId{7}};
  over.keys = {{SubtaskIndex{0}, "left"}, {SubtaskIndex{9}, ""}};
  EXPECT_EQ(decode_job_ended(encode(over)).value().keys, over.keys);
}

// As `capnp encode` makes it by the schema of the version that only quotas of slots could be set in.
TEST(JournalCodec, WhatYesterdaysProgramKeptOfPolicyComesBack) {
  const std::vector<std::uint64_t> words{
      0xc00000000,  0x2000100000000, 0x1a3185c5000,   0x1700000005, 0x1700000011, 0x1000100000004, 0x3fe0000000000000,
      0x2200000001, 0x6e6e61,        0x1000100000004, 0xc,          0x3a00000001, 0x6e6f69736976};
  const FramePayload payload{words};
  const std::uint64_t checksum = payload.hash();
  std::string value(sizeof checksum, '\0');
  std::memcpy(value.data(), &checksum, sizeof checksum);
  value.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint64_t));
  const Result<record::PolicyKept> kept = decode_policy(value);
  ASSERT_TRUE(kept.has_value()) << to_string(kept.error());
  EXPECT_EQ(*kept, (record::PolicyKept{
                       1'800'000'000'000, {{"ann", "", {0.5, 0, 0, 0}}}, {{"vision", ProjectSetting::Slots, 12}}}));
}

TEST(JournalCodec, OutputsThatAreAllTheFirstTakeNoColumn) {
  record::SubtasksEnded ended = some_ended();
  const std::size_t with_numbers = encode(ended).size();
  ended.made.back().output = 0;
  EXPECT_LT(encode(ended).size(), with_numbers);
  EXPECT_EQ(decode_subtasks_ended(encode(ended)).value(), ended);
}

TEST(JournalCodec, NoBitCanFlipUnseen) {
  const std::string good = encode(some_ended());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    const Result<record::SubtasksEnded> read = decode_subtasks_ended(bad);
    ASSERT_FALSE(read.has_value()) << "bit " << bit;
    EXPECT_EQ(read.error().code, ErrorCode::StorageDamaged);
  }
}

TEST(JournalCodec, NoCutGoesUnseen) {
  const std::string good = encode(some_ended());
  for (std::size_t length = 0; length < good.size(); ++length)
    ASSERT_FALSE(decode_subtasks_ended(good.substr(0, length)).has_value()) << length;
}

}  // namespace
}  // namespace penstock::supervisor::journal_codec
