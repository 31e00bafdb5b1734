// Runners that are started before they are needed.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

class Warming : public ::testing::Test {
 protected:
  Warming() { process(worker.template_at(0), "python"); }
  static void process(Template& program, const std::string& name) {
    program.runner = RunnerKind::Process;
    program.program = name;
  }
  /// `python 1 2`: that runner, for these lanes.
  std::vector<std::string> warmed() {
    std::vector<std::string> lines;
    for (const auto& warm : worker.take<worker_action::WarmRunners>()) {
      lines.push_back(warm.program->program);
      for (const SlotIndex lane : warm.lanes) lines.back() += " " + std::to_string(lane.value());
    }
    return lines;
  }
  std::vector<std::uint16_t> lanes_started() {
    std::vector<std::uint16_t> lanes;
    for (const auto& start : worker.take<worker_action::StartSubtask>()) lanes.push_back(start.lane.value());
    return lanes;
  }
  using Lines = std::vector<std::string>;

  WorkerHarness worker{4};
};

TEST_F(Warming, IdleLanesAreWarmedForWhatWaitsForItsProducers) {
  PENSTOCK_EXPECT_COVERAGE_MARK(
      "runners were started before they were needed",
      worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {0}}, {.subtask = 2, .missing = {0}}}));
  EXPECT_EQ(warmed(), Lines{"python 1 2"});
  EXPECT_EQ(lanes_started(), std::vector<std::uint16_t>{0});
  worker.ignore();
}

TEST_F(Warming, TheLanesThatAreWarmedAreThoseThatStartNext) {
  worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {9}}, {.subtask = 2, .missing = {9}}});
  EXPECT_EQ(warmed(), Lines{"python 1 2"});
  worker.ignore();
  worker.assign({{.subtask = 3}, {.subtask = 4}});
  EXPECT_EQ(lanes_started(), (std::vector<std::uint16_t>{1, 2}));
  worker.ignore();
}

TEST_F(Warming, WhatStartsAtOnceStartsItsRunnerItself) {
  worker.assign({{.subtask = 0}, {.subtask = 1}});
  EXPECT_EQ(warmed(), Lines{});
  worker.ignore();
}

TEST_F(Warming, NoMoreLanesAreWarmedThanSlotsAreIdle) {
  worker.template_at(0).request.slots = kOneSlot * 2;
  worker.assign({{.subtask = 0}, {.subtask = 1, .missing = {0}}, {.subtask = 2, .missing = {0}}});
  EXPECT_EQ(warmed(), Lines{"python 1"});
  worker.ignore();
}

// More lanes would take memory that is in no quota.
TEST_F(Warming, NoMoreLanesAreWarmedThanCanRunAtOnce) {
  worker.template_at(0).request.named = {{"license", 1}};
  worker.assign({{.subtask = 0, .missing = {9}}, {.subtask = 1, .missing = {9}}});
  EXPECT_EQ(warmed(), Lines{}) << "no band here has one";
  worker.ignore();
}

TEST_F(Warming, NoMoreLanesAreWarmedThanHaveMemory) {
  worker.template_at(0).request.memory = kMiB * 400;  // Of 1 GiB.
  worker.assign({{.subtask = 0, .missing = {9}}, {.subtask = 1, .missing = {9}}, {.subtask = 2, .missing = {9}}});
  EXPECT_EQ(warmed(), Lines{"python 0 1"});
  worker.ignore();
}

TEST_F(Warming, ItIsOrderedOnceForEachKindAndLane) {
  worker.assign({{.subtask = 0, .missing = {9}}});
  EXPECT_EQ(warmed(), Lines{"python 0"});
  worker.assign({{.subtask = 1, .missing = {9}}}, 2);
  EXPECT_EQ(warmed(), Lines{});
  worker.assign({{.subtask = 2, .missing = {9}}, {.subtask = 3, .missing = {9}}}, 2);
  EXPECT_EQ(warmed(), Lines{"python 0 1"});
  process(worker.template_at(1), "julia");
  worker.assign({{.subtask = 4, .missing = {9}, .template_index = 1}}, 3);
  EXPECT_EQ(warmed(), Lines{"julia 0"});
}

TEST_F(Warming, NativeOperatorsAndCommandsHaveNoRunners) {
  worker.template_at(0).runner = RunnerKind::Native;
  process(worker.template_at(1), "program");
  worker.template_at(1).runner = RunnerKind::Command;
  worker.assign({{.subtask = 0, .missing = {9}}, {.subtask = 1, .missing = {9}, .template_index = 1}});
  EXPECT_EQ(warmed(), Lines{});
}

TEST_F(Warming, AWorkerThatDrainsStartsNone) {
  worker.receive(Drain{true});
  worker.ignore();
  worker.assign({{.subtask = 0, .missing = {9}}});
  EXPECT_EQ(warmed(), Lines{});
  worker.ignore();
}

TEST_F(Warming, WhileMemoryIsShortNoneIsStartedAndThoseThatWereEndedAreOrderedAgain) {
  WorkerHarness small{2, Bytes{300}};
  process(small.template_at(0), "python");
  const worker_event::MemoryMeasured high{BandIndex{0}, Bytes{700}};
  small.assign({{.subtask = 0, .missing = {9}}});
  ASSERT_EQ(small.take<worker_action::WarmRunners>().size(), 1U);
  small.handle(high);
  small.assign({{.subtask = 1, .missing = {9}}, {.subtask = 2, .missing = {9}}});
  EXPECT_EQ(small.take<worker_action::WarmRunners>().size(), 0U);
  for (int step = 0; step < 2; ++step) {
    small.tick_after(std::chrono::seconds{1});
    small.handle(high);
  }
  const auto restarts = small.take<worker_action::RestartRunners>();
  ASSERT_EQ(restarts.size(), 1U);
  EXPECT_EQ(restarts[0].lanes, std::vector<SlotIndex>{SlotIndex{0}}) << "nothing has run there, but a runner is";
  small.handle(worker_event::LanesRestarted{BandIndex{0}, restarts[0].lanes});
  small.handle(worker_event::MemoryMeasured{BandIndex{0}, Bytes{200}});
  small.assign({{.subtask = 3, .missing = {9}}});
  EXPECT_EQ(small.take<worker_action::WarmRunners>().size(), 1U);
  small.ignore();
}

TEST_F(Warming, WhatHasEndedByThenNeedsNone) {
  worker.template_at(0).request.memory = kGiB * 1000;  // Refused at once.
  worker.assign({{.subtask = 0}});
  EXPECT_EQ(warmed(), Lines{});
  worker.ignore();
}

}  // namespace
}  // namespace penstock::worker
