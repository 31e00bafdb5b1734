#include "supervisor/store/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/protocol/graph_chunks.hpp"
#include "supervisor/store/journal_codec.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/memory_storage.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  return spec;
}

SubtaskRange range(std::uint32_t first, std::uint32_t last) { return {SubtaskIndex{first}, SubtaskIndex{last}}; }

class JournalTest : public ::testing::Test {
 protected:
  void write(const Record& record) {
    StorageBatch batch;
    write_record(record, next_number++, batch);
    ASSERT_TRUE(storage.commit(batch, Sync::Yes).has_value());
  }
  void accept(std::uint32_t job, const std::string& name) {
    write(record::JobAccepted{JobId{job}, named(name), &graph});
  }
  void succeed(std::uint32_t job, std::uint32_t first, std::uint32_t last) {
    record::SubtasksEnded ended;
    ended.job = JobId{job};
    ended.counts.total = graph.size();
    ended.counts.succeeded = last + 1;
    ended.succeeded = {range(first, last)};
    ended.made = {{SubtaskIndex{first}, 0, 100}};
    write(ended);
  }
  Recovered must_recover(Damage damage = Damage::Refuse) {
    Result<Recovered> recovered = recover(storage, damage);
    EXPECT_TRUE(recovered.has_value()) << to_string(recovered.error());
    return recovered ? std::move(recovered).value() : Recovered{};
  }
  void accept_again(std::uint32_t job, const std::string& name, std::uint32_t graph_of) {
    write(record::JobAccepted{JobId{job}, named(name), &graph, 0, JobId{graph_of}});
  }
  void end(std::uint32_t job, const std::string& name) {
    record::JobEnded over{JobId{job}, named(name), {}};
    over.everything.state = JobState::Succeeded;
    over.everything.succeeded = {range(0, 4)};
    write(over);
  }
  /// The only part of the graph that the job has brought.
  std::string& graph_part(std::uint32_t job) {
    std::string key("k\0\0\0\0\0\0\0\0", 9);
    key[4] = static_cast<char>(job);
    return storage.entries().at(key);
  }
  std::size_t entries_of_graphs() {
    return static_cast<std::size_t>(std::count_if(storage.entries().begin(), storage.entries().end(),
                                                  [](const auto& entry) { return entry.first[0] == 'k'; }));
  }
  /// The value of the only entry with a key that continues the job's with this kind.
  std::string& entry(std::uint32_t job, char kind) {
    std::string* found = nullptr;
    for (auto& [key, value] : storage.entries())
      if (key.size() > 5 && key[4] == static_cast<char>(job) && key[5] == kind) found = &value;
    EXPECT_NE(found, nullptr);
    return *found;
  }
  std::vector<std::string> losses(const Recovered& recovered) {
    std::vector<std::string> lines;
    for (const JournalLoss& loss : recovered.losses) lines.push_back(to_string(loss));
    return lines;
  }

  const Graph graph = GraphBuilder{}.sources(4).join().build();
  MemoryStorage storage;
  std::uint64_t next_number = 1;
};

TEST_F(JournalTest, AWorkerThatIsWrittenAgainKeepsItsOrderAndGivesBackNoNumber) {
  record::WorkerJoined first{WorkerId{3}, Incarnation{4}, "w", true};
  write(first);
  write(record::WorkerJoined{WorkerId{7}, Incarnation{8}, "v", true});
  write(record::WorkerGone{WorkerId{7}});
  first.drain = true;
  first.again = true;
  write(first);
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.workers.size(), 1U);
  EXPECT_EQ(recovered.state.workers[0].drain, std::optional{true});
  EXPECT_EQ(recovered.state.next_worker, WorkerId{8}) << "others may know the one that is gone by its number";
}

TEST_F(JournalTest, AnEmptyOneBeginsWithJobOne) {
  const Recovered recovered = must_recover();
  EXPECT_TRUE(recovered.state.jobs.empty());
  EXPECT_EQ(recovered.state.next_job, JobId{1});
  EXPECT_EQ(recovered.next_number, 1U);
}

TEST_F(JournalTest, ARunningJobComesBackWithAllThatHasEnded) {
  accept(1, "one");
  succeed(1, 0, 1);
  succeed(1, 3, 3);
  write(record::JobChanged{JobId{1}, 9, true, Error{ErrorCode::Cancelled, "one", "by wish", {}}});
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.jobs.size(), 1U);
  const RecoveredJob& job = recovered.state.jobs[0];
  EXPECT_EQ(job.spec.name, "one");
  EXPECT_EQ(job.spec.priority, 9);
  EXPECT_TRUE(job.cancelling);
  EXPECT_EQ(job.why.message, "by wish");
  EXPECT_FALSE(job.is_over);
  ASSERT_EQ(recovered.state.graphs.size(), 1U);
  EXPECT_EQ(recovered.state.graphs[0].brought_by, JobId{1});
  EXPECT_EQ(job.graph, JobId{1});
  ASSERT_EQ(recovered.state.graphs[0].chunks.size(), 1U);
  EXPECT_EQ(recovered.state.graphs[0].chunks[0], graph);
  EXPECT_EQ(job.ended.succeeded, (std::vector{range(0, 1), range(3, 3)}));
  EXPECT_EQ(job.ended.made.size(), 2U);
  EXPECT_EQ(job.ended.counts.succeeded, 4U);
  EXPECT_EQ(recovered.state.next_job, JobId{2});
  EXPECT_EQ(recovered.next_number, 4U);
}

TEST_F(JournalTest, OfEachSubtaskThatHasNotEndedTheLastChangeComesBack) {
  accept(1, "one");
  record::SubtaskChanged change{JobId{1}, SubtaskIndex{3}, 1, 1, 0, 1, {"attempt 1"}, {}, false};
  write(change);
  change.attempt = change.charged = change.failures = 2;
  change.lines.push_back("attempt 2");
  write(change);
  const record::SubtaskChanged order{JobId{1}, SubtaskIndex{0}, 0, 0, 0, 0, {}, -4, true};
  write(order);
  const Recovered recovered = must_recover();
  EXPECT_EQ(recovered.state.jobs.at(0).changes, (std::vector<record::SubtaskChanged>{order, change}));
}

TEST_F(JournalTest, CheckpointsComeBackUnlessTheOutputWasMadeAgain) {
  const auto put = [this](std::uint32_t subtask, std::uint64_t writer) {
    record::SubtasksEnded ended;
    ended.job = JobId{1};
    ended.checkpoints = {{SubtaskIndex{subtask}, Incarnation{writer}}};
    write(ended);
  };
  accept(1, "one");
  succeed(1, 0, 0);
  succeed(1, 1, 1);
  put(0, 77);
  put(1, 77);
  succeed(1, 0, 0);  // Its output was made again.
  put(1, 78);
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.jobs.size(), 1U);
  EXPECT_EQ(recovered.state.jobs[0].ended.checkpoints,
            (std::vector<CheckpointPlace>{{SubtaskIndex{1}, Incarnation{78}}}));
  put(99, 77);
  const Result<Recovered> outside = recover(storage, Damage::Refuse);
  ASSERT_FALSE(outside.has_value());
  EXPECT_NE(to_string(outside.error()).find("does not have"), std::string::npos);
}

TEST_F(JournalTest, LostWritersComeBackUntilTheirCheckpointsAreRemoved) {
  write(record::WriterLost{Incarnation{5}});
  write(record::WriterLost{Incarnation{6}});
  EXPECT_EQ(must_recover().state.lost_writers, (std::vector{Incarnation{5}, Incarnation{6}}));
  write(record::WriterForgotten{Incarnation{5}});
  EXPECT_EQ(must_recover().state.lost_writers, std::vector{Incarnation{6}});
  for (auto& [key, value] : storage.entries())
    if (key[0] == 'c') value[3] = static_cast<char>(value[3] ^ 1);
  EXPECT_FALSE(recover(storage, Damage::Refuse).has_value());
  EXPECT_EQ(losses(must_recover(Damage::Salvage)),
            std::vector<std::string>{"lost: a lost worker whose checkpoints may stay on shared storage"});
}

TEST_F(JournalTest, OrdersComeBackUntilTheyAreForgotten) {
  const record::Ordered first{1, 1'800'000'000'000, "ada@desk", "cancel one", "done"};
  const record::Ordered second{2, 1'800'000'000'001, "", "drain w1", "is not known"};
  write(first);
  write(second);
  EXPECT_EQ(must_recover().state.orders, (std::vector{first, second}));
  write(record::OrderForgotten{1});
  EXPECT_EQ(must_recover().state.orders, std::vector{second});
  for (auto& [key, value] : storage.entries()) value[12] ^= 1;
  EXPECT_EQ(recover(storage, Damage::Refuse).error().code, ErrorCode::StorageDamaged);
  EXPECT_EQ(losses(must_recover(Damage::Salvage)),
            (std::vector<std::string>{"lost: an order of an operator in the list of orders"}));
}

TEST_F(JournalTest, WhatIsKeptOfPolicyIsTheLastOfIt) {
  EXPECT_FALSE(must_recover().state.policy.has_value());
  write(record::PolicyKept{1, {{"ann", "ann", {1, 0, 0, 0}}}, {{"vision", ProjectSetting::Slots, 3}}});
  const record::PolicyKept last{2, {{"bob", "bob", {2, 0, 0, 0}}}, {}};
  write(last);
  EXPECT_EQ(must_recover().state.policy, last);
  for (auto& [key, value] : storage.entries()) value[12] ^= 1;
  EXPECT_EQ(recover(storage, Damage::Refuse).error().code, ErrorCode::StorageDamaged);
  const Recovered salvaged = must_recover(Damage::Salvage);
  EXPECT_FALSE(salvaged.state.policy.has_value());
  EXPECT_EQ(losses(salvaged), (std::vector<std::string>{"lost: use of accounts, and quotas that were set"}));
}

TEST_F(JournalTest, ADamagedChangeOfASubtaskCostsNoJob) {
  accept(1, "one");
  write(record::SubtaskChanged{JobId{1}, SubtaskIndex{3}, 1, 1, 0, 1, {}, {}, false});
  entry(1, 'b')[9] ^= 4;
  EXPECT_EQ(recover(storage, Damage::Refuse).error().code, ErrorCode::StorageDamaged);
  const Recovered recovered = must_recover(Damage::Salvage);
  EXPECT_EQ(recovered.state.jobs.size(), 1U);
  EXPECT_EQ(losses(recovered),
            (std::vector<std::string>{"job-1 'one' goes on without failed attempts, priorities and cancels of 1 "
                                      "subtasks; they begin anew"}));
}

TEST_F(JournalTest, AnOlderFormatIsReadAndRaisedBeforeAnythingNewIsWritten) {
  accept(1, "one");
  storage.entries().at("h") = journal_codec::encode(journal_codec::Head{1, JobId{2}});
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.jobs.size(), 1U);
  ASSERT_TRUE(begin_life(storage, recovered, 5).has_value());
  const Result<journal_codec::Head> head = journal_codec::decode_head(storage.entries().at("h"));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->format, journal_codec::kFormat);
  EXPECT_EQ(head->next_job, JobId{2});
}

TEST_F(JournalTest, ALifeGoesOnFromItsBranchAndARenewedOneIsAnother) {
  const Result<JournalIdentity> first = begin_life(storage, must_recover(), 5);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->state, 5U);
  EXPECT_NE(first->branch, 0U);
  EXPECT_EQ(first->life, 1U);
  const Result<JournalIdentity> second = begin_life(storage, must_recover(), 6);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(*second, (JournalIdentity{5, first->branch, 2}));
  Recovered restored = must_recover();
  renew_branch(restored.identity, 7, 1'795'000'000);
  const Result<JournalIdentity> third = begin_life(storage, restored, 8);
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->state, 5U);
  EXPECT_NE(third->branch, first->branch);
  EXPECT_EQ(third->life, 1'795'000'001U) << "above all terms of other branches";
  EXPECT_EQ(must_recover().identity, *third);
}

TEST_F(JournalTest, AStateFromBeforeThereWereBranchesGetsOneAndItsTermsGoOn) {
  storage.entries()["i"] = journal_codec::encode(JournalIdentity{5, 0, 3});
  const Result<JournalIdentity> identity = begin_life(storage, must_recover(), 6);
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->state, 5U);
  EXPECT_NE(identity->branch, 0U);
  EXPECT_EQ(identity->life, 4U);
}

TEST_F(JournalTest, AJobOfAnOlderVersionGetsTheSameIdentityInEveryLife) {
  accept(1, "one");
  accept(2, "two");
  storage.entries()["i"] = journal_codec::encode(JournalIdentity{5, 0, 3});
  Recovered first = must_recover();
  const Result<JournalIdentity> life = begin_life(storage, first, 6);
  ASSERT_TRUE(life.has_value());
  identify_jobs(first.state, *life);
  Recovered second = must_recover();
  renew_branch(second.identity, 7, 1'795'000'000);
  const Result<JournalIdentity> next = begin_life(storage, second, 8);
  ASSERT_TRUE(next.has_value());
  identify_jobs(second.state, *next);
  EXPECT_TRUE(first.state.jobs[0].identity.valid());
  EXPECT_NE(first.state.jobs[0].identity, first.state.jobs[1].identity);
  EXPECT_EQ(second.state.jobs[0].identity, first.state.jobs[0].identity);
}

TEST_F(JournalTest, TheIdentityOfAJobStaysWhatItWasWhenItWasAccepted) {
  write(record::JobAccepted{JobId{1}, named("one"), &graph, 9, {}, 0, {3, 4}});
  Recovered running = must_recover();
  identify_jobs(running.state, {5, 6, 7});
  EXPECT_EQ(running.state.jobs[0].identity, (JobIdentity{3, 4}));
  record::JobEnded over{JobId{1}, named("one"), {}};
  over.identity = {3, 4};
  write(over);
  EXPECT_EQ(must_recover().state.jobs[0].identity, (JobIdentity{3, 4}));
}

TEST_F(JournalTest, AJobThatIsOverKeepsItsEndOnly) {
  accept(1, "one");
  succeed(1, 0, 4);
  record::JobEnded over{JobId{1}, named("one"), {}};
  over.everything.state = JobState::Succeeded;
  over.everything.succeeded = {range(0, 4)};
  write(over);
  EXPECT_EQ(storage.entries().size(), 4U);  // The head, the end, and a graph that may be submitted again.
  write(record::GraphForgotten{JobId{1}});
  EXPECT_EQ(storage.entries().size(), 2U);
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.jobs.size(), 1U);
  EXPECT_TRUE(recovered.state.jobs[0].is_over);
  EXPECT_EQ(recovered.state.jobs[0].everything.succeeded, over.everything.succeeded);
}

TEST_F(JournalTest, ANumberIsNeverUsedTwiceEvenIfItsJobIsForgotten) {
  accept(4, "four");
  write(record::JobForgotten{JobId{4}});
  const Recovered recovered = must_recover();
  EXPECT_TRUE(recovered.state.jobs.empty());
  EXPECT_EQ(recovered.state.next_job, JobId{5});
}

TEST_F(JournalTest, ALargeGraphIsCutIntoChunks) {
  GraphBuilder builder;
  builder.sources(20'000);
  std::vector<std::string> payloads(20'000, std::string(150, 'p'));
  const Graph large = builder.payloads(payloads).build();
  write(record::JobAccepted{JobId{1}, named("large"), &large});
  const Recovered recovered = must_recover();
  const std::vector<Graph>& chunks = recovered.state.graphs.at(0).chunks;
  EXPECT_GT(chunks.size(), 2U);
  std::size_t subtasks = 0;
  for (const Graph& chunk : chunks) subtasks += chunk.size();
  EXPECT_EQ(subtasks, 20'000U);
}

TEST_F(JournalTest, AJobThatRunsTheGraphOfAnotherWritesNoneAndOutlivesIt) {
  accept(1, "one");
  const std::size_t before = entries_of_graphs();
  accept_again(2, "two", 1);
  EXPECT_EQ(entries_of_graphs(), before);
  end(1, "one");
  write(record::JobForgotten{JobId{1}});
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.jobs.size(), 1U);
  EXPECT_EQ(recovered.state.jobs[0].graph, JobId{1});
  ASSERT_EQ(recovered.state.graphs.size(), 1U);
  EXPECT_EQ(recovered.state.graphs[0].chunks.at(0), graph);
}

TEST_F(JournalTest, OutputsThatWereReleasedStaySoAlsoBehindTheEndOfTheirJob) {
  const auto released = [&](std::uint32_t job, std::uint32_t subtask) {
    write(record::OutputsReleased{JobId{job}, {{SubtaskIndex{subtask}, SubtaskIndex{subtask}}}});
  };
  accept(1, "one");
  released(1, 0);
  released(1, 1);
  accept(2, "two");
  released(2, 0);
  end(2, "two");
  released(2, 1);
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.jobs.size(), 2U);
  EXPECT_EQ(recovered.state.jobs[0].released.size(), 2U);
  EXPECT_EQ(recovered.state.jobs[1].released, (std::vector{SubtaskRange{SubtaskIndex{1}, SubtaskIndex{1}}}))
      << "the end of a job takes the place of all records before";
  EXPECT_GT(recovered.next_number, 5U) << "the next record must not take the place of one of these";
}

TEST_F(JournalTest, PartsOfSharedObjectsReplaceEachOtherByTheirKeys) {
  const record::SharedKept variable{SharedKind::Variable, "best", {}, 0, {}, 0, 0, "7"};
  const record::SharedKept item{SharedKind::Item, "work", "reader", 3, "taker", 5, 0, "value"};
  write(record::SharedKept{SharedKind::Variable, "best", {}, 0, {}, 0, 0, "6"});
  write(variable);
  write(record::SharedKept{SharedKind::Holder, "lock", "1", 0, "session", 0, 2, {}});
  write(record::SharedKept{SharedKind::Holder, "loc", "k1", 0, "session", 0, 2, {}});
  write(record::SharedForgotten{SharedKind::Holder, "lock", "1", 0});
  write(item);
  write(record::SharedKept{SharedKind::Item, "work", "reader", 4, {}, 0, 0, "gone"});
  write(record::SharedForgotten{SharedKind::Item, "work", "reader", 4});
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.shared.size(), 3U);
  EXPECT_EQ(recovered.state.shared[0], variable);
  EXPECT_EQ(recovered.state.shared[1].name, "loc") << "names that are the same when put together are different";
  EXPECT_EQ(recovered.state.shared[2], item);
}

TEST_F(JournalTest, AReleaseOfOutputsThatTheGraphDoesNotHaveBreaksItsJob) {
  accept(1, "one");
  write(record::OutputsReleased{JobId{1}, {{SubtaskIndex{0}, SubtaskIndex{1'000'000}}}});
  EXPECT_EQ(must_recover(Damage::Salvage).state.jobs.size(), 0U);
}

TEST_F(JournalTest, JobsOfOneGraphComeBackWithOne) {
  accept(1, "one");
  accept_again(2, "two", 1);
  accept(3, "three");
  const Recovered recovered = must_recover();
  EXPECT_EQ(recovered.state.jobs.size(), 3U);
  ASSERT_EQ(recovered.state.graphs.size(), 2U);
  EXPECT_EQ(recovered.state.graphs[0].brought_by, JobId{1});
  EXPECT_EQ(recovered.state.graphs[1].brought_by, JobId{3});
}

TEST_F(JournalTest, AGraphThatNoJobNeedsIsTakenOutAndDamageInItCostsNothing) {
  accept(1, "one");
  accept(9, "nine");
  end(9, "nine");
  write(record::JobForgotten{JobId{9}});
  graph_part(9)[20] ^= 1;
  storage.entries().erase("h");
  const Recovered recovered = must_recover(Damage::Refuse);
  EXPECT_TRUE(recovered.losses.empty());
  EXPECT_EQ(recovered.state.graphs.size(), 1U);
  EXPECT_EQ(recovered.state.next_job, JobId{10}) << "its number stays used";
  EXPECT_EQ(entries_of_graphs(), 2U);
}

TEST_F(JournalTest, TheGraphOfAFailedJobComesBackAndDamageInItCostsOnlyAnotherRun) {
  accept(1, "one");
  accept(2, "two");
  for (const std::uint32_t job : {1U, 2U}) {
    record::JobEnded over{JobId{job}, named("failed"), {}};
    over.everything.state = JobState::Failed;
    over.graph_of = JobId{job};
    write(over);
  }
  graph_part(1)[20] ^= 1;
  const Recovered recovered = must_recover(Damage::Refuse);
  EXPECT_TRUE(recovered.losses.empty());
  ASSERT_EQ(recovered.state.jobs.size(), 2U);
  EXPECT_FALSE(recovered.state.jobs[0].graph.valid());
  EXPECT_EQ(recovered.state.jobs[1].graph, JobId{2});
  ASSERT_EQ(recovered.state.graphs.size(), 1U);
  EXPECT_EQ(recovered.state.graphs[0].brought_by, JobId{2});
  EXPECT_EQ(recovered.state.graphs[0].chunks.front(), graph);
  EXPECT_EQ(entries_of_graphs(), 2U) << "nothing is left of the damaged one";
  write(record::GraphForgotten{JobId{2}});
  EXPECT_FALSE(must_recover().state.jobs[1].graph.valid()) << "it was dropped since";
}

TEST_F(JournalTest, EndedJobsShareTheirGraph) {
  accept(1, "one");
  accept_again(2, "two", 1);
  for (const std::uint32_t job : {1U, 2U}) {
    record::JobEnded over{JobId{job}, named("cancelled"), {}};
    over.everything.state = JobState::Cancelled;
    over.graph_of = JobId{1};
    write(over);
  }
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.graphs.size(), 1U);
  ASSERT_EQ(recovered.state.jobs.size(), 2U);
  for (const RecoveredJob& job : recovered.state.jobs) EXPECT_EQ(job.graph, JobId{1});
}

TEST_F(JournalTest, AnEndedAndARunningJobShareTheirGraph) {
  accept(1, "one");
  accept_again(2, "two", 1);
  record::JobEnded over{JobId{1}, named("one"), {}};
  over.everything.state = JobState::Failed;
  over.graph_of = JobId{1};
  write(over);
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.graphs.size(), 1U);
  EXPECT_EQ(recovered.state.graphs[0].chunks.front(), graph);
  EXPECT_EQ(recovered.state.jobs[0].graph, JobId{1});
  EXPECT_EQ(recovered.state.jobs[1].graph, JobId{1});
}

TEST_F(JournalTest, ALostGraphNamesAllThatRunIt) {
  accept(1, "one");
  accept_again(2, "two", 1);
  accept(3, "three");
  accept_again(4, "four", 3);
  end(3, "three");
  const auto intact = storage.entries();
  graph_part(1)[20] ^= 1;
  const Result<Recovered> refused = recover(storage, Damage::Refuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().subject, "job-1");
  EXPECT_EQ(losses(must_recover(Damage::Salvage)),
            (std::vector<std::string>{
                "job-1 'one' is lost: a part of its graph fails its checksum",
                "job-2 'two' is lost: a part of its graph fails its checksum, which job-1 has brought"}));
  EXPECT_EQ(entries_of_graphs(), 2U) << "nothing is left of the lost one";
  storage.entries() = intact;
  storage.entries().erase(std::string("k\0\0\0\3", 5));
  EXPECT_EQ(
      losses(must_recover(Damage::Salvage)),
      (std::vector<std::string>{"job-4 'four' is lost: the head of its graph is missing, which job-3 has brought"}));
}

// Formats 1 and 2 had the graph with its job, as the wire has it.
TEST_F(JournalTest, AGraphThatAnOlderVersionHasWrittenComesBackAndGoesWithItsJob) {
  using namespace journal_codec;
  accept(1, "one");
  std::erase_if(storage.entries(), [](const auto& item) { return item.first[0] == 'k'; });
  const std::string prefix("j\0\0\0\1", 5);
  storage.entries()[prefix + 'a'] = encode(Accepted{JobId{1}, named("one"), 5, 2, 7, JobId::none()});
  storage.entries()[prefix + std::string("g\0\0\0\0", 5)] = encode_plain(chunk_of(graph, 0, 3));
  storage.entries()[prefix + std::string("g\0\0\0\1", 5)] = encode_plain(chunk_of(graph, 3, 2));
  storage.entries()["h"] = encode(Head{2, JobId{2}});
  const Recovered recovered = must_recover();
  ASSERT_EQ(recovered.state.jobs.size(), 1U);
  EXPECT_EQ(recovered.state.jobs[0].graph, JobId{1});
  ASSERT_EQ(recovered.state.graphs.size(), 1U);
  EXPECT_TRUE(recovered.state.graphs[0].with_its_job);
  EXPECT_EQ(recovered.state.graphs[0].chunks.at(1), chunk_of(graph, 3, 2));
  end(1, "one");
  EXPECT_EQ(storage.entries().size(), 2U);
}

// Fault F13.
TEST_F(JournalTest, WithoutSalvageDamageIsRefusedByName) {
  accept(1, "one");
  accept(2, "two");
  graph_part(2)[20] ^= 1;
  const Result<Recovered> refused = recover(storage, Damage::Refuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::StorageDamaged);
  EXPECT_EQ(refused.error().subject, "job-2");
  EXPECT_NE(refused.error().remedy.find("--salvage"), std::string::npos);
}

TEST_F(JournalTest, SalvageKeepsIntactJobsListsTheOthersAndCleansUp) {
  accept(1, "one");
  accept(2, "two");
  accept(3, "three");
  succeed(3, 0, 1);
  succeed(3, 2, 2);
  graph_part(2).resize(30);
  entry(3, 'e')[9] ^= 4;
  const Recovered recovered = must_recover(Damage::Salvage);
  ASSERT_EQ(recovered.state.jobs.size(), 2U);
  EXPECT_EQ(recovered.state.jobs[0].id, JobId{1});
  EXPECT_EQ(recovered.state.jobs[1].id, JobId{3});
  EXPECT_EQ(recovered.state.jobs[1].ended.succeeded, (std::vector{range(0, 1)}));
  EXPECT_EQ(losses(recovered),
            (std::vector<std::string>{
                "job-2 'two' is lost: a part of its graph is cut off",
                "job-3 'three' goes on without 1 records of ended subtasks; those subtasks run again"}));
  EXPECT_TRUE(must_recover(Damage::Refuse).losses.empty());  // Clean from here on.
}

TEST_F(JournalTest, AMissingPartOfAGraphLosesTheJob) {
  accept(1, "one");
  std::erase_if(storage.entries(), [](const auto& item) { return item.first[0] == 'k' && item.first.size() > 5; });
  const Recovered recovered = must_recover(Damage::Salvage);
  EXPECT_EQ(losses(recovered), (std::vector<std::string>{"job-1 'one' is lost: a part of its graph is missing"}));
  EXPECT_EQ(recovered.state.next_job, JobId{2});
}

TEST_F(JournalTest, JobsOfWhichNothingIsLeftAreListedByNumber) {
  for (std::uint32_t job = 1; job <= 8; ++job) {
    write(record::JobAccepted{JobId{job}, named("some"), &graph, job * 1000});
    if (job != 3) continue;
    record::JobEnded over{JobId{job}, named("some"), {}, 3000, 3500};
    over.everything.state = JobState::Succeeded;
    write(over);
  }
  const auto lose = [this](std::uint32_t job) {
    std::erase_if(storage.entries(), [&](const auto& entry) {
      const std::string& key = entry.first;
      return key.size() >= 5 && (key[0] == 'j' || key[0] == 'k') && key[4] == static_cast<char>(job);
    });
  };
  for (const std::uint32_t job : {1U, 5U, 6U, 8U}) lose(job);
  EXPECT_TRUE(must_recover().losses.empty()) << "without a salvage, what is not there has been forgotten";
  const Recovered recovered = must_recover(Damage::Salvage);
  EXPECT_EQ(losses(recovered),
            (std::vector<std::string>{"job-1 is lost: nothing is left of it, unless forgotten after the end",
                                      "job-5 to job-6 are lost: nothing is left of them",
                                      "job-8 is lost: nothing is left of it"}));
  EXPECT_EQ(recovered.losses[1].last, JobId{6});
  EXPECT_EQ(recovered.state.jobs.size(), 4U);
}

TEST_F(JournalTest, RecordsThatNameWhatIsNotInTheGraphLoseTheJob) {
  accept(1, "one");
  succeed(1, 0, 5);
  EXPECT_FALSE(recover(storage, Damage::Refuse).has_value());
  EXPECT_EQ(must_recover(Damage::Salvage).losses.size(), 1U);
}

TEST_F(JournalTest, ANewerFormatIsRefusedAlsoWhenSalvaging) {
  accept(1, "one");
  storage.entries().at("h") = journal_codec::encode(journal_codec::Head{journal_codec::kFormat + 1, JobId{9}});
  EXPECT_EQ(recover(storage, Damage::Refuse).error().code, ErrorCode::VersionMismatch);
  EXPECT_EQ(recover(storage, Damage::Salvage).error().code, ErrorCode::VersionMismatch);
}

TEST_F(JournalTest, ADamagedHeadCostsNoJobAndNoNumber) {
  accept(1, "one");
  storage.entries().at("h") = "no head at all";
  EXPECT_EQ(recover(storage, Damage::Refuse).error().code, ErrorCode::StorageDamaged);
  const Recovered recovered = must_recover(Damage::Salvage);
  EXPECT_EQ(recovered.state.jobs.size(), 1U);
  EXPECT_EQ(recovered.state.next_job, JobId{2});
}

TEST_F(JournalTest, AnyOneFlippedBitCostsAtMostItsOwnJob) {
  accept(1, "one");
  accept(2, "two");
  succeed(2, 0, 1);
  const auto intact = storage.entries();
  std::size_t step = 0;
  for (const auto& [key, value] : intact)
    for (std::size_t at = step++ % 7; at < value.size(); at += 7) {
      storage.entries() = intact;
      storage.entries()[key][at] ^= 0x20;
      ASSERT_FALSE(recover(storage, Damage::Refuse).has_value());
      const Recovered recovered = must_recover(Damage::Salvage);
      ASSERT_GE(recovered.state.jobs.size(), 1U);
      ASSERT_EQ(recovered.losses.size(), 1U);
      ASSERT_EQ(recovered.state.next_job, JobId{3});
    }
}

}  // namespace
}  // namespace penstock::supervisor
