// A graph that is known runs again on one small message.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "common/protocol/graph_chunks.hpp"
#include "supervisor/core/graph_price.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name, Keep keep = Keep::Nothing) {
  JobSpec spec;
  spec.name = name;
  spec.keep = keep;
  return spec;
}

Graph pair() { return GraphBuilder{}.chain(2).build(); }

SubmitReply again(SupervisorHarness& cluster, const SubmitAgain& message) {
  cluster.client_says(message);
  const auto replies = cluster.take_for<SubmitReply>();
  EXPECT_EQ(replies.size(), 1U);
  return replies.empty() ? SubmitReply{} : replies.front();
}

SubmitReply again(SupervisorHarness& cluster, const Graph& graph, const std::string& name) {
  return again(cluster, SubmitAgain{7, {}, named(name), content_hash(graph)});
}

void run_pair(SupervisorHarness& cluster, std::uint32_t job) {
  cluster.assigned();
  cluster.succeed(1, 0, {}, job);
  cluster.succeed(1, 1, {}, job);
  EXPECT_EQ(cluster.state(job), JobState::Succeeded);
}

TEST(SubmitAgain, RunsTheGraphOfAJobThatHasEnded) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first"));
  run_pair(cluster, 1);
  const SubmitReply reply = again(cluster, pair(), "second");
  EXPECT_EQ(reply.submission, 7U);
  EXPECT_EQ(reply.job, JobId{2});
  EXPECT_FALSE(reply.existed);
  EXPECT_EQ(cluster.assigned(), (Lines{"2:0 to w1", "2:1 to w1, cached"}));
  run_pair(cluster, 2);
  EXPECT_EQ(cluster.core().counters().graphs_again, 1U);
}

// Found by an explorer: `cancel 1` took the job of that number, and not the one of that name.
TEST(SubmitAgain, ANameThatReadsAsANumberIsRefused) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first"));
  for (const char* name : {"1", "job-1", "2026"}) {
    const Error refusal = again(cluster, pair(), name).refusal;
    EXPECT_EQ(refusal.code, ErrorCode::InvalidArgument) << name;
    EXPECT_EQ(refusal.message, "reads as the number of a job");
  }
  EXPECT_TRUE(again(cluster, pair(), "first").existed);
  EXPECT_EQ(again(cluster, pair(), "v1").job, JobId{2});
  EXPECT_EQ(again(cluster, pair(), "job-one").job, JobId{3});
  cluster.ignore();
}

TEST(SubmitAgain, RunsTheGraphOfAJobThatIsStillRunning) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first"));
  cluster.assigned();
  EXPECT_EQ(again(cluster, pair(), "second").job, JobId{2});
  EXPECT_EQ(cluster.assigned(), (Lines{"2:0 to w1", "2:1 to w1, cached"}));
  run_pair(cluster, 1);
  run_pair(cluster, 2);
}

TEST(SubmitAgain, TheGraphMayBeNamedByAJob) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first"));
  run_pair(cluster, 1);
  EXPECT_EQ(again(cluster, SubmitAgain{1, {JobId::none(), "first"}, named("by name"), {}}).job, JobId{2});
  EXPECT_EQ(again(cluster, SubmitAgain{1, {JobId{1}, ""}, named("by number"), {}}).job, JobId{3});
  EXPECT_EQ(again(cluster, SubmitAgain{1, {JobId{9}, ""}, named("x"), {}}).refusal.code, ErrorCode::UnknownGraph);
  cluster.ignore();
}

TEST(SubmitAgain, AnUnknownGraphIsRefusedByName) {
  SupervisorHarness cluster;
  cluster.join();
  SubmitReply reply;
  PENSTOCK_EXPECT_COVERAGE_MARK("a graph that is to run again is not known", reply = again(cluster, pair(), "second"));
  EXPECT_FALSE(reply.job.valid());
  EXPECT_EQ(reply.refusal.code, ErrorCode::UnknownGraph);
  EXPECT_NE(reply.refusal.subject.find(to_string(content_hash(pair()))), std::string::npos);
}

TEST(SubmitAgain, AGraphThatIsNoLongerKeptIsUnknown) {
  SupervisorConfig config;
  config.cached_graphs_max = 0;
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(pair(), named("first"));
  EXPECT_EQ(again(cluster, pair(), "second").job, JobId{2}) << "while it runs it is known";
  run_pair(cluster, 1);
  run_pair(cluster, 2);
  EXPECT_EQ(again(cluster, pair(), "third").refusal.code, ErrorCode::UnknownGraph);
}

// A mended file under the old name was answered with the old job, and nothing of it ran.
TEST(SubmitAgain, TheSameNameIsTheSameJobOnlyForTheSameWork) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first"));
  EXPECT_TRUE(again(cluster, pair(), "first").existed);
  const Graph other = GraphBuilder{}.sources(9).build();
  EXPECT_EQ(again(cluster, other, "first").refusal.code, ErrorCode::NameTaken)
      << "the graph need not be known for that";
  cluster.submit(other, named("first"));
  EXPECT_EQ(cluster.refusal().code, ErrorCode::NameTaken);
  JobSpec elsewhere = named("first");
  elsewhere.policy.labels = {"fast"};
  cluster.submit(pair(), elsewhere);
  EXPECT_EQ(cluster.refusal().code, ErrorCode::NameTaken) << "it may run on other workers";
  JobSpec urgent = named("first");
  urgent.priority = 5;
  cluster.submit(pair(), urgent);
  EXPECT_TRUE(cluster.last_reply().existed) << "an order can change that";
  EXPECT_EQ(cluster.core().counters().jobs_accepted, 1U);
  cluster.ignore();
}

TEST(Submit, WhatASubmitterSaysOfItsRunsAndItsContentCountsForNothing) {
  SupervisorHarness cluster;
  cluster.join();
  JobSpec spec = named("first");
  spec.content = {1, 2};
  spec.runs.edit().number = 9;
  cluster.submit(pair(), spec);
  EXPECT_FALSE(cluster.job(1).spec.runs.any());
  EXPECT_EQ(cluster.job(1).spec.content, content_hash(named("first"), content_hash(pair())));
  cluster.ignore();
}

TEST(Submit, ANumberBehindTheNameMayMakeItTooLong) {
  SupervisorConfig config;
  config.graph.name_bytes_max = 8;
  SupervisorHarness cluster{config};
  cluster.join();
  JobSpec spec = named("sevenle");
  cluster.submit(pair(), spec);
  spec.name_use = NameUse::Number;
  cluster.submit(pair(), spec);
  EXPECT_EQ(cluster.refusal().code, ErrorCode::InvalidArgument);
  spec.name = "sixlet";
  spec.name_use = NameUse::Same;
  cluster.submit(pair(), spec);
  spec.name_use = NameUse::Number;
  EXPECT_EQ(cluster.submit(pair(), spec), JobId{3});
  EXPECT_EQ(cluster.job(3).spec.name, "sixlet-2");
  cluster.ignore();
}

TEST(Submit, AReplacedJobIsStillKnownByItsNumber) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first"));
  run_pair(cluster, 1);
  JobSpec spec = named("first");
  spec.name_use = NameUse::Replace;
  EXPECT_EQ(cluster.submit(GraphBuilder{}.sources(9).build(), spec), JobId{2});
  EXPECT_EQ(cluster.ask("job", {"first"})->operator[]("id"), Value{"job-2"});
  EXPECT_EQ(cluster.ask("job", {"job-1"})->operator[]("name"), Value{"first"});
  cluster.ignore();
}

// A client that was given another's job as its own released it with its own last word of it.
TEST(Submit, AJobThatExistedIsOursOnlyIfTheSameSubmitterAsksOnceMore) {
  SupervisorHarness cluster;
  cluster.join();
  JobSpec spec = named("first");
  spec.submitter = 8;
  cluster.submit(pair(), spec);
  EXPECT_FALSE(cluster.last_reply().existed);
  cluster.submit(pair(), spec, ClientId{2});  // The client has another connection by now.
  EXPECT_TRUE(cluster.last_reply().existed);
  EXPECT_TRUE(cluster.last_reply().ours);
  spec.submitter = 9;
  cluster.submit(pair(), spec, ClientId{3});
  EXPECT_TRUE(cluster.last_reply().existed);
  EXPECT_FALSE(cluster.last_reply().ours);
  EXPECT_FALSE(again(cluster, pair(), "first").ours) << "an older client does not say who it is";
  cluster.submit(pair(), named("of an older client"));
  cluster.submit(pair(), named("of an older client"), ClientId{2});
  EXPECT_FALSE(cluster.last_reply().ours);
  cluster.ignore();
}

TEST(SubmitAgain, WhatNoBandCanHoldAnyMoreIsRefusedAndStaysKnown) {
  SupervisorHarness cluster;
  cluster.join({.slots = 4});
  GraphBuilder builder;
  builder.sources(1).template_at(0).request.slots = kOneSlot * 4;
  const Graph large = builder.build();
  cluster.submit(large, named("first"));
  cluster.assigned();
  cluster.succeed(1, 0);
  cluster.join({.slots = 2});
  cluster.lose(1);
  cluster.alerts();
  EXPECT_EQ(again(cluster, large, "second").refusal.code, ErrorCode::RequestTooLarge);
  cluster.join({.slots = 4});
  EXPECT_EQ(again(cluster, large, "second").job, JobId{2});
  EXPECT_EQ(cluster.assigned(), Lines{"2:0 to w3"});
}

// Each run has its own spec, counts and outputs; the graph alone is shared.
TEST(SubmitAgain, TheSpecIsOfTheNewJobAlone) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first", Keep::Sinks));
  cluster.assigned();
  cluster.succeed(1, 0, {{0, 10}});
  cluster.succeed(1, 1, {{0, 20}});
  cluster.ignore();
  EXPECT_EQ(cluster.job(1).outputs.locations.size(), 1U);
  SubmitAgain message{1, {}, named("second"), content_hash(pair())};
  message.spec.priority = 3;
  again(cluster, message);
  cluster.assigned();
  EXPECT_EQ(cluster.job(2).spec.priority, 3);
  cluster.succeed(1, 0, {{0, 10}}, 2);
  cluster.succeed(1, 1, {{0, 20}}, 2);
  cluster.ignore();
  EXPECT_TRUE(cluster.job(2).outputs.locations.empty());
  EXPECT_EQ(cluster.job(1).outputs.locations.size(), 1U);
}

// The client hashes the whole graph; the one that the supervisor hashes was put together from chunks.
TEST(SubmitAgain, AGraphThatCameInChunksHasTheNameOfTheWhole) {
  Graph graph = GraphBuilder{}.sources(3).join().priority(4).chain(3).expected(Duration{5}).build();
  graph.edge_outputs.assign(graph.edge_count(), 0);
  graph.edge_outputs.back() = EdgeKind::kOrderOnly;
  for (std::uint32_t i = 0; i <= graph.size(); ++i) graph.payload_offsets.push_back(i), graph.name_offsets.push_back(i);
  graph.payloads = "abcdefg";
  graph.names = "ABCDEFG";
  graph.wanted = {2};
  GraphIntake intake{GraphLimits{}};
  for (const std::uint32_t first : {0U, 2U, 3U})
    ASSERT_TRUE(intake.add(chunk_of(graph, first, first == 3 ? 4 : first == 2 ? 1 : 2)).has_value());
  const auto shape = intake.finish();
  ASSERT_TRUE(shape.has_value()) << to_string(shape.error());
  EXPECT_EQ((*shape)->hash(), content_hash(graph));
}

TEST(SubmitAgain, ANewRunBeginsWithTheDurationsOfTheLast) {
  SupervisorHarness cluster;
  cluster.join();
  cluster.submit(pair(), named("first"));
  run_pair(cluster, 1);
  again(cluster, pair(), "second");
  EXPECT_GT(cluster.job(2).graph.templates[0].runs, 0U);
  cluster.ignore();
}

// Spec: design 4, accepted means durable, however the graph came.
TEST(SubmitAgain, IsAcceptedWhenItIsOnTheDisk) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(pair(), named("first"));
  cluster.write_all();
  cluster->ignore();
  cluster->client_says(SubmitAgain{1, {}, named("second"), content_hash(pair())});
  EXPECT_TRUE(cluster->take_for<SubmitReply>().empty());
  EXPECT_EQ(cluster->assigned(), Lines{});
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<SubmitReply>().size(), 1U);
  cluster->ignore();
  cluster.restart();
  EXPECT_EQ(cluster->job(2).total(), 2U);
  EXPECT_EQ(again(cluster.life(), pair(), "first").existed, true);
  cluster->ignore();
}

// The graph was rebuilt from the journal: it has the same name by content as the one that was sent.
TEST(SubmitAgain, AGraphIsKnownAfterARestart) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(pair(), named("first"));
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  cluster->join();
  cluster->ignore();
  cluster->client_says(SubmitAgain{1, {}, named("second"), content_hash(pair())});
  cluster.write_all();
  const auto replies = cluster->take_for<SubmitReply>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].job, JobId{2});
  cluster->ignore();
}

TEST(SubmitAgain, OneThatCouldNotBeWrittenLeavesItsGraph) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(pair(), named("first"));
  cluster.write_all();
  cluster->ignore();
  cluster->client_says(SubmitAgain{1, {}, named("second"), content_hash(pair())});
  cluster->handle(supervisor_event::StorageFailed{Error{ErrorCode::StorageFull, "disk", "is full", {}}});
  const auto replies = cluster->take_for<SubmitReply>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].refusal.code, ErrorCode::StorageFull);
  EXPECT_EQ(cluster->job(1).graph.shared->jobs, 2U) << "it is still read by whoever writes";
  cluster.write_all();
  EXPECT_EQ(cluster->job(1).graph.shared->jobs, 1U);
  cluster->ignore();
}

/// The acceptances and forgotten graphs among the records: `2 runs 1`, `forget 1`.
Lines graphs_written(JournalHarness& cluster) {
  Lines lines;
  for (const supervisor_action::Persist& order : cluster->take_persists())
    for (const Record& record : order.records) {
      if (const auto* job = std::get_if<record::JobAccepted>(&record))
        lines.push_back(std::to_string(job->job.value()) + " runs " + std::to_string(job->graph_of.value()));
      if (const auto* gone = std::get_if<record::GraphForgotten>(&record))
        lines.push_back("forget " + std::to_string(gone->brought_by.value()));
    }
  return lines;
}

SupervisorConfig config_with(std::uint32_t cached_graphs_max) {
  SupervisorConfig config;
  config.cached_graphs_max = cached_graphs_max;
  return config;
}

TEST(SubmitAgain, AGraphIsWrittenOnceAndForgottenWhenNobodyCanRunItAgain) {
  JournalHarness cluster{config_with(1)};  // Without workers nothing is given out, and cancels are done at once.
  cluster->submit(pair(), named("first"));
  EXPECT_EQ(graphs_written(cluster), Lines{"1 runs 1"});
  cluster->handle(supervisor_event::Persisted{1});
  cluster->client_says(SubmitAgain{1, {}, named("second"), content_hash(pair())});
  EXPECT_EQ(graphs_written(cluster), Lines{"2 runs 1"});
  cluster->client_says(AdminRequest{1, "cancel", {"first"}, {}});
  cluster->client_says(AdminRequest{2, "cancel", {"second"}, {}});
  cluster->handle(supervisor_event::Persisted{100});
  EXPECT_EQ(graphs_written(cluster), Lines{}) << "it may be submitted again";
  cluster->ignore();
  cluster->submit(GraphBuilder{}.chain(9).build(), named("third"));
  EXPECT_EQ(graphs_written(cluster), Lines{"3 runs 3"});
  cluster->client_says(AdminRequest{3, "cancel", {"third"}, {}});
  cluster->handle(supervisor_event::Persisted{200});
  EXPECT_EQ(graphs_written(cluster), Lines{"forget 1"}) << "another one took its place";
  cluster->ignore();
}

// The writer reads the graph on another thread.
TEST(SubmitAgain, AGraphLivesUntilItIsWrittenWhateverBecomesOfItsJob) {
  JournalHarness cluster{config_with(0)};
  cluster->submit(pair(), named("first"));
  cluster->handle(supervisor_event::StorageFailed{Error{ErrorCode::StorageFull, "disk", "is full", {}}});
  EXPECT_EQ(graphs_written(cluster), Lines{"1 runs 1"}) << "the job is gone, its graph is not";
  EXPECT_GT(cluster->core().memory_bytes(), 0U);
  cluster->handle(supervisor_event::Persisted{100});
  EXPECT_EQ(graphs_written(cluster), Lines{"forget 1"});
  EXPECT_EQ(cluster->core().memory_bytes(), 0U);
  cluster->ignore();
}

// Memory for one job of a graph and a half: the price of a graph has a part of its own in it.
TEST(SubmitAgain, AJobThatIsTooDearBesideTheOthersIsRefused) {
  const Graph graph = GraphBuilder{}.sources(1000).build();
  const std::uint64_t price = graph_price(totals_of(graph));
  SupervisorConfig config;
  config.memory_max = Bytes{static_cast<std::int64_t>(price)};
  SupervisorHarness cluster{config};
  cluster.join();
  cluster.submit(graph, named("first"));
  EXPECT_EQ(cluster.state(1), JobState::Running);
  for (const char* name : {"second", "third"}) {
    const SubmitReply reply = again(cluster, graph, name);
    if (reply.job.valid()) continue;
    EXPECT_EQ(reply.refusal.code, ErrorCode::LimitExceeded);
    EXPECT_NE(reply.refusal.remedy.find("supervisor.memory_max"), std::string::npos);
  }
  PENSTOCK_EXPECT_COVERAGE_MARK("a job is too dear for the memory that is left",
                                EXPECT_FALSE(again(cluster, graph, "fourth").job.valid()));
  EXPECT_LE(cluster.core().held_bytes(), price);
  cluster.client_says(AdminRequest{1, "cancel", {"first"}, {}});
  cluster.ignore();
}

TEST(SubmitAgain, JobsOfOneGraphShareItInTheNextLifeToo) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(pair(), named("first"));
  cluster.write_all();
  cluster->client_says(SubmitAgain{1, {}, named("second"), content_hash(pair())});
  cluster.write_all();
  cluster->ignore();
  cluster.restart();
  EXPECT_EQ(cluster->job(1).graph.shared, cluster->job(2).graph.shared);
  EXPECT_EQ(cluster->job(1).graph.shared->jobs, 2U);
  cluster->client_says(SubmitAgain{1, {}, named("third"), content_hash(pair())});
  EXPECT_EQ(graphs_written(cluster), Lines{"3 runs 1"});
  cluster->ignore();
}

JobSpec of_user(const std::string& user, const std::string& name = "") {
  JobSpec spec = named(name);
  spec.owner = user;
  return spec;
}

std::uint64_t jobs_of(const std::string& user, SupervisorHarness& cluster) {
  std::uint64_t jobs = 0;
  const Result<Value> answer = cluster.ask("users");
  for (const Value& row : *answer->list()) {
    const Value::Record& fields = *row.record();
    if (*fields.at(0).second.text() == user) jobs = static_cast<std::uint64_t>(*fields.at(1).second.integer());
  }
  return jobs;
}

TEST(JobsOfUsers, AtTheLimitOneMoreIsRefusedWithTheWordsAndOthersAreNot) {
  SupervisorConfig config;
  config.users.jobs_max = 2;
  SupervisorHarness cluster{config};
  cluster.join({.slots = 4});
  EXPECT_EQ(cluster.submit(pair(), of_user("ada")), JobId{1});
  EXPECT_EQ(cluster.submit(pair(), of_user("ada", "second")), JobId{2}) << "at the limit";
  PENSTOCK_EXPECT_COVERAGE_MARK("a user has as many jobs as it may",
                                EXPECT_FALSE(cluster.submit(pair(), of_user("ada")).valid()));
  EXPECT_EQ(cluster.refusal().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(cluster.refusal().subject, "user 'ada'");
  EXPECT_EQ(cluster.refusal().message, "has 2 jobs that have not ended, and `users.jobs_max` is 2");
  EXPECT_NE(cluster.refusal().remedy.find("raise `users.jobs_max`"), std::string::npos);
  EXPECT_EQ(cluster.last_reply().retry_after, Duration{0}) << "nobody knows when one ends";
  EXPECT_EQ(cluster.submit(pair(), of_user("ada", "second")), JobId{2}) << "a repetition is no further job";
  EXPECT_EQ(cluster.submit(pair(), of_user("bob")), JobId{3});
  const SubmitReply again_refused = again(cluster, SubmitAgain{7, {}, of_user("ada"), content_hash(pair())});
  EXPECT_EQ(again_refused.refusal.code, ErrorCode::LimitExceeded);
  run_pair(cluster, 1);
  EXPECT_EQ(cluster.submit(pair(), of_user("ada")), JobId{4}) << "one has ended";
  EXPECT_EQ(jobs_of("ada", cluster), 2U);
  EXPECT_EQ(jobs_of("bob", cluster), 1U);
  cluster.ignore();
}

TEST(JobsOfUsers, OneThatCouldNotBeWrittenIsNone) {
  JournalHarness cluster;
  cluster->submit(pair(), of_user("ada"));
  EXPECT_EQ(jobs_of("ada", cluster.life()), 1U);
  cluster.fail(ErrorCode::StorageFull);
  EXPECT_EQ(jobs_of("ada", cluster.life()), 0U);
  cluster->ignore();
}

/// Whatever is submitted, ends, is cancelled or dies with the supervisor: each user has the jobs that have not ended.
RC_GTEST_PROP(JobsOfUsers, AreTheJobsThatHaveNotEndedAndNoneWhenAllHave, ()) {
  SupervisorConfig config;
  config.users.jobs_max = 3;
  JournalHarness cluster{config};
  const auto steps = *rc::gen::container<std::vector<int>>(20, rc::gen::inRange(0, 5));
  const std::vector<std::string> users{"ada", "bob"};
  std::map<std::string, std::set<std::uint32_t>> open;
  const auto end_one = [&](const std::string& user) {
    if (open[user].empty()) return;
    const std::uint32_t job = *open[user].begin();
    open[user].erase(job);
    cluster->client_says(AdminRequest{1, "cancel", {std::to_string(job)}, "ada@here"});
    cluster.write_all();
  };
  const auto check = [&] {
    for (const std::string& user : users) RC_ASSERT(jobs_of(user, cluster.life()) == open[user].size());
    cluster->ignore();
  };
  for (const int step : steps) {
    const std::string& user = users[static_cast<std::size_t>(step) % 2];
    if (step < 3) {
      cluster->submit(pair(), of_user(user));
      cluster.write_all();
      const std::vector<SubmitReply> replies = cluster->take_for<SubmitReply>();
      const JobId job = replies.empty() ? JobId::none() : replies.back().job;  // None: it was refused at once.
      RC_ASSERT(job.valid() == (open[user].size() < 3));
      if (job.valid()) open[user].insert(job.value());
    } else if (step == 3) {
      end_one(user);
    } else {
      cluster.restart();
    }
    check();
  }
  for (const std::string& user : users)
    while (!open[user].empty()) end_one(user);
  check();
  RC_ASSERT(cluster->ask("users")->list()->empty());
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
