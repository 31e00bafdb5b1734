// Every message that travels, with every field filled: for tests of what becomes of them on the wire.
#pragma once

#include <string>
#include <vector>

#include "common/wire/codec.hpp"

namespace penstock {

inline Template full_template() {
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
  t.replicas = 2;
  t.checkpoint = true;
  t.memory_max = kGiB * 2;
  t.overlap = Overlap::Never;
  return t;
}

inline Graph full_graph() {
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

/// Of a later term, and with more bits than attempts had before protocol 1.4.
inline constexpr Attempt kLateAttempt{(std::uint64_t{7} << 32U) + 0x10005U};

inline std::vector<ToWorker> all_to_worker() {
  AssignBatch batch;
  batch.job = JobId{3};
  batch.job_priority = -1;
  batch.job_name = "name";
  batch.owner = "ada";
  batch.secrets = {{"KEY", std::string{"a\0b", 3}}};
  batch.templates = {{TemplateIndex{1}, full_template()}};
  batch.assignments = {
      {SubtaskIndex{4}, TemplateIndex{1}, 0xffffffff00000001ULL, 2, 3, kLateAttempt, BandIndex{6}, 9, true}};
  batch.identity = {0x0123456789abcdefULL, 0xfedcba9876543210ULL};
  batch.inputs = {{SubtaskIndex{1}, 0, InputPlace::Missing, WorkerId{}, 0},
                  {SubtaskIndex{2}, 7, InputPlace::Remote, WorkerId{8}, 1LL << 40}};
  batch.payloads = "pay";
  return {
      RegisterReply{WorkerId{9}},
      batch,
      InputNoticeBatch{JobId{1},
                       {{SubtaskIndex{2}, EdgeKind::kOrderOnly, WorkerId{3}, 0}, {SubtaskIndex{4}, 1, WorkerId{5}, 6}}},
      CancelBatch{JobId{1}, true, {{SubtaskIndex{2}, kLateAttempt}}, kNeverKill},
      CancelBatch{JobId{1}, false, {}, kDefaultGrace, true},
      CancelBatch{JobId{1}, false, {{SubtaskIndex{4}, Attempt{1}}}, Duration{7}, true, true},
      PriorityBatch{JobId{1}, true, -5, {{SubtaskIndex{2}, 3}}},
      EntitlementBatch{7,
                       {{JobId{1}, BandIndex{2}, MilliSlots::max(), -3},
                        {JobId{1},
                         BandIndex{3},
                         MilliSlots{1500},
                         0,
                         1ULL << 63U,
                         Duration{5},
                         MilliGpu{250},
                         kGiB,
                         MilliCpu{700},
                         {{"fpga", 2}, {"licence", 1}},
                         Duration{6},
                         {0, 500, 1000}}}},
      StealRequest{JobId{1}, {{SubtaskIndex{2}, Attempt{3}}}},
      DropBatch{JobId{1}, true, {{SubtaskIndex{2}, 3}}},
      KeepBatch{JobId{1},
                {{SubtaskIndex{2}, 3, WorkerId{4}, 5, Incarnation{6}},
                 {SubtaskIndex{7}, 0, WorkerId::none(), 8, Incarnation{9}}},
                JobIdentity{3, 4}},
      RemoveCheckpoints{{Incarnation{11}, Incarnation{1ULL << 63U}}},
      ForgetJob{JobId{1}},
      ReportsApplied{88},
      Drain{false},
      ExplainQuestion{5, {JobId{6}, SubtaskIndex{7}}},
      PeerAddressBatch{{{WorkerId{3}, "10.0.0.1:77"}}},
      LogQuestion{1ULL << 63U, JobId{6}}};
}

inline std::vector<FromWorker> all_from_worker() {
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
  band.devices = {{"GPU-1", "H", "0000:01:00.0", kGiB, 1, 2}, {"GPU-2", "H", "0000:02:00.0", kGiB, 0, 2}};
  description.bands = {band};
  description.operators = {"noop", "burn"};
  description.reclaims = true;
  description.shared_storage = true;
  description.store_bytes_max = kMiB * 400;
  description.labels = {"a100", "rack-7"};
  description.users = {"ada", "bob"};
  description.log_questions = true;
  description.barriers = true;
  description.keeps_to_devices = true;
  description.crash =
      OperatorCrash{Incarnation{99}, {JobId{4}, SubtaskIndex{5}}, kLateAttempt, 11, "operator 'o' crashed"};
  ReportBatch batch;
  batch.number = 12;
  FailureDetail failure{FailureClass::OutOfMemory, 3, 9, 1 << 20, SubtaskIndex{5}, "m", std::string{"\0tail", 5}};
  failure.code = ErrorCode::LimitExceeded;
  failure.outputs_bytes = std::int64_t{1} << 40U;
  batch.jobs = {{JobId{1},
                 {{SubtaskIndex{2}, 3, kLateAttempt, 1, Outcome::Succeeded, ForwardResult::Hit, BandIndex{1}},
                  {SubtaskIndex{3}, 0, Attempt{1}, 0, Outcome::Failed, ForwardResult::Quota, BandIndex{0}},
                  {SubtaskIndex{4}, 9, Attempt{1}, 0, Outcome::Started, ForwardResult::Hit, BandIndex{1}, 0b11}},
                 {{0, 55}},
                 {failure},
                 {{SubtaskIndex{2}, kLateAttempt, BandIndex{1}, SlotIndex{3}, 10, 20, 30, 40}},
                 {7, 8}}};
  WorkerClaim claim{false, true, {{JobId{1}, {}, {}}, {JobId{2}, {}, {}}}};
  claim.jobs[0].identity = {9, 10};
  claim.jobs[0].attempts = {{SubtaskIndex{2}, kLateAttempt, BandIndex{1}, ClaimedStage::Waiting},
                            {SubtaskIndex{4}, Attempt{1}, BandIndex{0}, ClaimedStage::Running, 0b101}};
  claim.jobs[0].data = {{SubtaskIndex{2}, 1, 77}};
  batch.replicas = {{{JobId{1}, SubtaskIndex{2}}, 3}, {{JobId{1}, SubtaskIndex{4}}, 0, true}};
  batch.loads = {{BandIndex{1}, 1, 2, 3, 4, 5, Bytes{6}, Bytes{7}, 8}};
  batch.counters.edit() = WorkerCounters{1, 2, 3, 4, 5, 6, 7, 8, {9, 10, 11, 12, 13, 14}, 15, 16, 17, 18, 19, 20, 21};
  return {description,
          batch,
          DrainState{true, true},
          ExplainAnswer{1, true, "s", "r"},
          claim,
          LogAnswer{2, std::string{"1:2#1 \0any\n", 11}},
          BarrierAnswer{JobId{1}, BandIndex{2}, 1ULL << 63U, MilliSlots{1500}}};
}

inline std::vector<FromClient> all_from_client() {
  return {SubmitChunk{1,
                      true,
                      false,
                      {"n",
                       "o",
                       2,
                       Keep::Wanted,
                       true,
                       true,
                       {"p",
                        "a",
                        {"gpu", "rest"},
                        {"a100"},
                        2500,
                        7,
                        4,
                        JobKind::Inference,
                        Preemptible::Yes,
                        "standby",
                        "night",
                        250,
                        6,
                        "rack-*",
                        2},
                       std::chrono::seconds{90},
                       77,
                       std::chrono::minutes{10}},
                      full_graph(),
                      {7, 8, 9, 10, 11, 12}},
          SubmitAgain{2, {JobId{3}, "x"}, {"y", "", 0, Keep::Sinks, false}, {4, 5}},
          AttachJob{4, {JobId::none(), "z"}, {6, 7}},
          ReleaseJob{JobId{5}, {8, 9}},
          AdminRequest{6, "jobs", {"--all", "a b"}, "ada@host"},
          UnfollowJob{JobId{9}, JobIdentity{5, 6}},
          ReleaseOutputs{JobId{9}, {5, 6}, {{SubtaskIndex{0}, SubtaskIndex{2}}, {SubtaskIndex{7}, SubtaskIndex{7}}}}};
}

inline std::vector<ToClient> all_to_client() {
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
  return {SubmitReply{1, JobId{2}, true, {}, true, {3, 4}},
          SubmitReply{1, JobId::none(), false, {ErrorCode::GraphCycle, "a", "b", "c"}},
          SubmitReply{1, JobId::none(), false, {}, false, {}, std::chrono::microseconds{7}},
          AttachReply{1, JobId{2}, 3, {}, {5, 6}, std::chrono::hours{1}},
          progress,
          AdminAnswer{9, Value{record}, {}, std::chrono::milliseconds{8}}};
}

inline std::vector<Introduction> all_introductions() {
  return {Hello{1, 2, "0.1", PeerRole::Client, "n", "h", 3, Incarnation{4}, Incarnation::none(), 5},
          Welcome{1, 2, "0.1", Incarnation{6}, true, 7, std::chrono::seconds{1}, 8, 9, 10},
          Hello{1, 2, "0.1", PeerRole::Worker, "n", "h", 3, Incarnation{4}, Incarnation::none(), 5, true},
          SecurityNotice{{"0A", "0B"}, {{"ada", "pem"}}},
          SecurityNotice{},
          Refusal{{ErrorCode::VersionMismatch, "s", "m", "r"}}};
}

}  // namespace penstock
