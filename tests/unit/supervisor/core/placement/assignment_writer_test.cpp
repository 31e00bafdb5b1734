#include "supervisor/core/placement/assignment_writer.hpp"

#include <gtest/gtest.h>

#include "common/protocol/checkpoint_key.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/policy/entitlement_mail.hpp"
#include "supervisor/core/workers/worker_mail.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using GB = GraphBuilder;
using Inputs = std::vector<AssignedInput>;

constexpr WorkerSlot kFirst{0};
constexpr WorkerSlot kSecond{1};

/// Three workers: the first with two bands, the others with one. Tests say which producers have succeeded.
class AssignmentWriterTest : public ::testing::Test {
 protected:
  AssignmentWriterTest() {
    event.out = &out;
    for (std::uint32_t i = 1; i <= 3; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      description.data_address = "host-" + std::to_string(i) + ":1";
      description.bands.resize(i == 1 ? 2 : 1);
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
  }
  void begin(const Graph& graph) {
    shape = shape_of(graph);
    job.id = JobId{5};
    job.spec.name = "daily";
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    job.graph.templates.resize(graph.templates.size());
  }
  BandSlot band(WorkerSlot worker, std::size_t index = 0) { return workers[worker].bands[index]; }
  void succeed(std::uint32_t subtask, WorkerSlot worker, std::int64_t bytes = 0) {
    job.hot[subtask].phase = SubtaskPhase::Succeeded;
    job.hot[subtask].band = band(worker);
    job.data.open(*shape);
    job.data.set_bytes(*shape, subtask, 0, bytes);
  }
  /// The batches for a worker since the last flush; other messages are null.
  std::vector<const AssignBatch*> batches(WorkerSlot worker) {
    std::vector<const AssignBatch*> found;
    for (const ToWorker& message : mail.of(worker)) found.push_back(std::get_if<AssignBatch>(&message));
    return found;
  }
  const AssignBatch& write(std::uint32_t subtask, WorkerSlot worker) {
    writer.write_assignment(job, subtask, band(worker));
    return std::get<AssignBatch>(mail.of(worker).back());
  }
  Inputs inputs_of(std::uint32_t subtask, WorkerSlot worker) {
    mail.flush();
    return write(subtask, worker).inputs;
  }
  static AssignedInput input(std::uint32_t producer, InputPlace place, WorkerId location, std::int64_t bytes) {
    return {SubtaskIndex{producer}, 0, place, location, bytes};
  }

  SupervisorConfig config;
  Actions<SupervisorAction> out;
  EventContext event;
  WorkerTable workers;
  CommitGate gate{Durability::None, event};
  WorkerMail mail{workers, gate, event};
  WallClock clock{Instant{}, 1'700'000'000'000};
  PolicyState policy;
  EntitlementMail entitlements{config, event, workers, mail, policy};
  AssignmentWriter writer{config, clock, workers, mail, entitlements};
  std::unique_ptr<GraphShape> shape;
  Job job;
};

TEST_F(AssignmentWriterTest, AnAssignmentIsWrittenWithItsAttemptItsBandAndItsPayload) {
  begin(GB{}.sources(2).payloads({"ab", "cde"}).build());
  job.identity = {1, 2};
  job.spec.priority = 4;
  job.spec.trace = true;
  job.hot[0].attempt = 7;
  job.hot[1].missing = 1;
  writer.write_assignment(job, 0, band(kFirst, 1));
  const AssignBatch& batch = write(1, kFirst);
  EXPECT_EQ(std::tie(batch.job, batch.identity, batch.job_priority, batch.trace, batch.job_name),
            std::make_tuple(JobId{5}, JobIdentity{1, 2}, 4, true, std::string{"daily"}));
  ASSERT_EQ(batch.assignments.size(), 2U);
  const Assignment first{SubtaskIndex{0}, TemplateIndex{0}, job.worker_priority(0), 0, 2, Attempt{7}, BandIndex{1}};
  EXPECT_EQ(batch.assignments[0], first);
  EXPECT_EQ(batch.assignments[1].band, BandIndex{0});
  EXPECT_EQ(batch.assignments[1].payload_bytes, 3U);
  EXPECT_TRUE(batch.assignments[1].cached) << "an input is missing";
  EXPECT_EQ(batch.payloads, "abcde");
}

TEST_F(AssignmentWriterTest, AWorkerGetsTheNameOfAJobAndEachTemplateOnce) {
  constexpr std::uint32_t kLate = JobAudience::kTemplatesInWord + 1;
  begin(GB{}.add().add({}, kLate).add().add({}, kLate).build());
  const auto sent = [this](std::uint32_t subtask, WorkerSlot worker) {
    mail.flush();
    const AssignBatch& batch = write(subtask, worker);
    std::string text = batch.job_name;
    for (const TemplateDefinition& each : batch.templates) text += " " + std::to_string(each.index.value());
    return text;
  };
  EXPECT_EQ(sent(0, kFirst), "daily 0");
  EXPECT_EQ(sent(1, kFirst), " 64");
  EXPECT_EQ(sent(2, kFirst), "");
  EXPECT_EQ(sent(3, kFirst), "");
  EXPECT_EQ(sent(3, kSecond), "daily 64") << "another worker has nothing of it";
  EXPECT_EQ(job.audience.workers, (std::vector<WorkerId>{WorkerId{1}, WorkerId{2}}));
}

TEST_F(AssignmentWriterTest, ABatchIsExtendedWhileItIsTheLastMessageAndHasRoom) {
  config.assign_batch_max = 2;
  config.graph.subtask_payload_bytes_max = 4;
  begin(GB{}.sources(6).payloads({"", "", "abcd", "", "", ""}).build());
  for (const std::uint32_t subtask : {0U, 1U, 2U, 3U}) write(subtask, kFirst);
  Job other;
  other.id = JobId{6};
  writer.open_batch(other, kFirst);
  write(4, kFirst);
  mail.tell(kFirst, Drain{true});
  write(5, kFirst);
  std::vector<std::pair<std::uint32_t, std::size_t>> sizes;
  for (const AssignBatch* batch : batches(kFirst))
    if (batch != nullptr) sizes.emplace_back(batch->job.value(), batch->assignments.size());
  EXPECT_EQ(sizes, (std::vector<std::pair<std::uint32_t, std::size_t>>{{5, 2}, {5, 1}, {5, 1}, {6, 0}, {5, 1}, {5, 1}}))
      << "full by its count, full by its payload, and another message after it";
}

TEST_F(AssignmentWriterTest, InputsCarryTheirPlacesAndTheHoldersAreIntroduced) {
  begin(GB{}.sources(5).add({0, 1, 2, GB::order(3), GB::order(4)}).build());
  succeed(0, kFirst, 100);
  succeed(1, kSecond, 200);
  succeed(3, kSecond, 300);
  const AssignedInput order{SubtaskIndex{4}, EdgeKind::kOrderOnly, InputPlace::Missing, WorkerId{}, 0};
  const Inputs expected{input(0, InputPlace::Here, WorkerId{1}, 100), input(1, InputPlace::Remote, WorkerId{2}, 200),
                        input(2, InputPlace::Missing, WorkerId{}, 0), order};
  EXPECT_EQ(inputs_of(5, kFirst), expected) << "an order edge that is finished is left out";
  ASSERT_EQ(batches(kFirst).back()->assignments.size(), 1U);
  EXPECT_EQ(batches(kFirst).back()->assignments[0].input_count, 4U);
  EXPECT_EQ(workers[kFirst].new_peers, std::vector<PeerAddress>({{WorkerId{2}, "host-2:1"}}));
  job.data.add_replica(1, WorkerId{1});
  EXPECT_EQ(inputs_of(5, kFirst)[1], input(1, InputPlace::Here, WorkerId{1}, 200)) << "the worker has a copy";
}

TEST_F(AssignmentWriterTest, DataInputsAreOnlyCountedWhereAllOfThemAreEmpty) {
  begin(GB{}.sources(3).add({0, GB::order(2), 1}).build());
  succeed(0, kFirst);
  EXPECT_EQ(inputs_of(3, kFirst).size(), 3U) << "the other one may turn out to have bytes";
  succeed(1, kSecond);
  const Inputs left = inputs_of(3, kFirst);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].producer, SubtaskIndex{2});
  const Assignment& assignment = batches(kFirst).back()->assignments[0];
  EXPECT_EQ(assignment.input_count, 1U);
  EXPECT_EQ(assignment.omitted_inputs, 2U);
  succeed(1, kSecond, 1);
  EXPECT_EQ(inputs_of(3, kFirst)[0], input(0, InputPlace::Here, WorkerId{}, 0));
  EXPECT_EQ(batches(kFirst).back()->assignments[0].omitted_inputs, 0U);
}

TEST_F(AssignmentWriterTest, ASubtaskThatCouldNotGetAnInputIsSentToTheNextCopy) {
  begin(GB{}.chain(2).build());
  succeed(0, kSecond, 100);
  job.data.add_replica(0, WorkerId{3});
  SubtaskHistory& history = job.extras.histories.edit()[SubtaskIndex{1}];
  history.transfers = 1;
  EXPECT_EQ(inputs_of(1, kFirst), Inputs{input(0, InputPlace::Remote, WorkerId{2}, 100)})
      << "the subtask is untroubled";
  job.hot[1].flags |= SubtaskFlag::kTroubled;
  EXPECT_EQ(inputs_of(1, kFirst), Inputs{input(0, InputPlace::Remote, WorkerId{3}, 100)});
  history.transfers = 2;
  EXPECT_EQ(inputs_of(1, kFirst), Inputs{input(0, InputPlace::Remote, WorkerId{2}, 100)});
}

TEST_F(AssignmentWriterTest, UnderAPolicyEntitlementsComeFirstAndCommandsKnowWhereToSaveState) {
  GB graph;
  graph.template_at(0).runner = RunnerKind::Command;
  graph.template_at(0).environment = {"A=1", std::string{kCheckpointKey} + "=job-5.forged"};
  begin(graph.sources(2).build());
  EXPECT_EQ(write(0, kFirst).templates[0].content.environment, std::vector<std::string>{"A=1"});
  EXPECT_EQ(mail.of(kFirst).size(), 1U) << "without a policy no entitlement is sent";
  job.status.submitted = Instant{std::chrono::milliseconds{25}};
  job.shares = std::make_unique<JobShares>();
  const Template sent = write(0, kSecond).templates[0].content;
  EXPECT_EQ(checkpoint_key_of(sent, job.id), "job-5.1700000000025");
  EXPECT_EQ(sent.environment.size(), 2U);
  write(1, kSecond);
  ASSERT_EQ(mail.of(kSecond).size(), 2U) << "once, before the first assignment";
  EXPECT_TRUE(std::holds_alternative<EntitlementBatch>(mail.of(kSecond).front()));
}

}  // namespace
}  // namespace penstock::supervisor
