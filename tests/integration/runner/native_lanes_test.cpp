// Lanes with real threads: a lane that runs out of runs tells, and runs on offer are run once and in order.
#include "worker/runner/native/native_lanes.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "common/base/attempt_id.hpp"
#include "common/loop/actor_host.hpp"
#include "common/protocol/external_input.hpp"
#include "worker/actors/blocking_actor.hpp"
#include "worker/runner/native/operator_registry.hpp"

namespace penstock::worker {
namespace {

int do_nothing(penstock_call*) { return 0; }
int wait_to_be_cancelled(penstock_call* call) {
  while (call->cancelled(call) == 0) {
  }
  return 0;
}

constexpr int kClosed = 0;
constexpr int kReached = 1;
constexpr int kOpen = 2;
std::atomic<int> gate{kClosed};
int wait_for_gate(penstock_call*) {
  gate = kReached;
  gate.notify_one();
  while (gate != kOpen) {
  }
  return 0;
}

const NativeLanesConfig kAllRunsAreShort{.short_run_ns = UINT32_MAX};

int fail_if_cancelled(penstock_call* call) { return call->cancelled(call); }

class NativeLanesTest : public ::testing::Test {
 protected:
  NativeRun run_of(std::uint64_t ticket, penstock_operator_function function = do_nothing) {
    NativeRun run;
    run.ticket = ticket;
    run.id = {JobId{1}, SubtaskIndex{static_cast<std::uint32_t>(ticket)}};
    run.attempt = Attempt{1};
    run.program = &program;
    run.function = function;
    run.empty_inputs = 2;
    return run;
  }
  void wait_for_idle() {
    std::unique_lock lock{mutex};
    ASSERT_TRUE(news.wait_for(lock, std::chrono::seconds{30}, [&] { return idle > 0; }));
    idle = 0;
  }
  /// Runs it, and tells how it ended.
  NativeEnd end_of(const NativeRun& run) { return end_of(run, lanes); }
  NativeEnd end_of(const NativeRun& run, NativeLanes& of, const std::vector<DataKey>& inputs = {}) {
    of.start(SlotIndex{0}, run, inputs);
    of.open_offers();
    wait_for_idle();
    std::vector<NativeEnd> ends;
    of.withdraw(ends);
    EXPECT_EQ(ends.size(), 1U);
    return ends.empty() ? NativeEnd{} : std::move(ends.front());
  }
  std::string output_of(const NativeRun& run) {
    const NativeEnd end = end_of(run);
    if (!end.succeeded) return "failed: " + end.failure->message;
    const BlobPtr blob = store.find(DataKey{run.id, 0});
    if (blob == nullptr) return {};
    return {reinterpret_cast<const char*>(blob->bytes().data()), blob->bytes().size()};
  }

  const Template program;
  ObjectStore store;
  std::mutex mutex;  // Guards `idle`.
  std::condition_variable news;
  int idle = 0;
  const NativeLanes::OnIdle note_idle = [this] {
    const std::lock_guard lock{mutex};
    ++idle;
    news.notify_one();
  };
  NativeLanes lanes{store, {}, note_idle};
};

TEST_F(NativeLanesTest, WhatIsOnOfferIsRunOnceAndInTheOrderOfEachLane) {
  constexpr std::uint64_t kLanes = 3;
  constexpr std::uint64_t kRounds = 200;
  constexpr std::uint64_t kOffered = 100;
  std::uint64_t next = 1;
  std::vector<int> seen(1 + kRounds * (kLanes + kOffered) * 2);
  std::uint64_t started = 0;
  std::vector<bool> busy(kLanes);
  std::map<std::uint64_t, std::uint64_t> lane_of;
  std::vector<NativeEnd> ends;
  const auto collect = [&] {
    ends.clear();
    lanes.withdraw(ends);
    for (const NativeEnd& end : ends) {
      ++seen[end.ticket];
      const std::uint64_t lane = lane_of.at(end.ticket);
      lane_of.erase(end.ticket);
      if (end.next_ticket == kNoTicket) {
        busy[lane] = false;
        continue;
      }
      EXPECT_EQ(lane_of.count(end.next_ticket), 0U);
      lane_of[end.next_ticket] = lane;
    }
  };
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
      if (busy[lane]) continue;
      busy[lane] = true;
      lane_of[next] = lane;
      lanes.start(SlotIndex{static_cast<std::uint16_t>(lane)}, run_of(next++), {});
      ++started;
    }
    // Offers that are not taken over are forgotten, as if the core had changed its mind.
    for (std::uint64_t i = 0; i < kOffered; ++i) lanes.add_offer(JobId::none(), {}) = run_of(next++);
    lanes.open_offers();
    if (round % 2 == 0) wait_for_idle();
    collect();
  }
  while (!lane_of.empty()) {
    wait_for_idle();
    collect();
  }
  for (const int times : seen) EXPECT_LE(times, 1);
  EXPECT_GE(started, kLanes);
}

TEST_F(NativeLanesTest, WhatIsOnOfferWithinAJobFollowsRunsOfThatJob) {
  const auto run_for = [&](std::uint32_t job, std::uint64_t number) {
    NativeRun run = run_of(job * 100 + number);
    run.id.job = JobId{job};
    return run;
  };
  for (std::uint64_t number = 1; number < 4; ++number)
    for (const std::uint32_t job : {1U, 2U, 3U}) lanes.add_offer(JobId{job}, {}) = run_for(job, number);
  lanes.open_offers();
  for (const std::uint32_t job : {1U, 2U}) lanes.start(SlotIndex{static_cast<std::uint16_t>(job)}, run_for(job, 0), {});
  std::vector<NativeEnd> ends;
  {
    std::unique_lock lock{mutex};
    ASSERT_TRUE(news.wait_for(lock, std::chrono::seconds{30}, [&] { return idle > 1; }));
  }
  lanes.withdraw(ends);
  ASSERT_EQ(ends.size(), 8U);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::uint64_t expected = ends[i].ticket % 100 < 3 ? ends[i].ticket + 1 : kNoTicket;
    EXPECT_EQ(ends[i].next_ticket, expected) << ends[i].ticket;
  }
}

// A lane looks for mail for a while, sleeps, or does the one after the other; and each end is told before the lane may
// look away.
TEST_F(NativeLanesTest, ALaneFindsItsNextRunHoweverItWaitsForIt) {
  const Duration times[] = {Duration{0}, std::chrono::microseconds{1}, std::chrono::seconds{30}};
  for (const Duration spin : times)
    for (const Duration spin_max : times) {
      NativeLanesConfig config;
      config.spin = spin;
      config.spin_max = spin_max;
      NativeLanes other{store, config, note_idle};
      for (std::uint64_t ticket = 1; ticket <= 50; ++ticket) {
        other.start(SlotIndex{0}, run_of(ticket), {});
        other.open_offers();
        wait_for_idle();
        std::vector<NativeEnd> ends;
        other.withdraw(ends);
        ASSERT_EQ(ends.size(), 1U);
        EXPECT_EQ(ends[0].ticket, ticket);
      }
      other.end();  // A lane that still looks for mail finds that there is none to come.
    }
}

// All inputs empty: the lane hands out the views of the last such run, however many that one had.
int expect_empty_inputs(penstock_call* call) {
  for (std::size_t i = 0; i < call->input_count; ++i)
    if (call->inputs[i].data != nullptr || call->inputs[i].bytes != 0) return call->fail(call, "an input is not empty");
  return call->input_count == call->attempt ? 0 : call->fail(call, "the inputs are not as many as they should be");
}

TEST_F(NativeLanesTest, ARunWhoseInputsAreAllEmptyHasAsManyAsItAsksFor) {
  for (const std::uint16_t count : {3, 1, 0, 7, 2}) {
    NativeRun run = run_of(1, expect_empty_inputs);
    run.empty_inputs = count;
    run.attempt = Attempt{count};
    lanes.start(SlotIndex{0}, run, {});
    lanes.open_offers();
    wait_for_idle();
    std::vector<NativeEnd> ends;
    lanes.withdraw(ends);
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_TRUE(ends[0].succeeded) << count << ": " << (ends[0].failure ? ends[0].failure->message : "");
  }
}

int write_output(penstock_call* call, const std::string& said) {
  void* out = call->output(call, 0, said.size());
  if (out == nullptr) return call->fail(call, "no memory");
  std::memcpy(out, said.data(), said.size());
  return 0;
}
int say_attempt(penstock_call* call) {
  const std::string name = call->attempt_id(call);
  if (name != call->attempt_id(call)) return call->fail(call, "it has two names");
  return write_output(call, std::to_string(call->attempt) + " " + std::to_string(call->attempt_number) + " " + name);
}

// Its low half begins anew with each life of the supervisor.
TEST_F(NativeLanesTest, AnOperatorSeesTheWholeAttemptAndItsName) {
  NativeRun run = run_of(3, say_attempt);
  run.identity = {0xa, 0xb};
  const std::string identity = "000000000000000a000000000000000b";
  EXPECT_EQ(output_of(run), "1 1 " + identity + "-3-1");
  run.attempt = Attempt{attempts_begin(2).value() + 1};
  EXPECT_EQ(output_of(run), "1 4294967297 " + identity + "-3-4294967297");
}

int fail_with_an_output(penstock_call* call) {
  const std::string name = call->attempt_id(call);
  if (write_output(call, "of the failed run") != 0) return 1;
  if (call->device_output(call, 0, 64) != 0) return 0;  // The band has no device: that is recorded as the reason.
  return call->fail(call, ("failed as " + name).c_str());
}
int return_seven(penstock_call*) { return 7; }

// A lane has one call for all its runs.
TEST_F(NativeLanesTest, NothingOfARunIsSeenByTheNextOneOfItsLane) {
  NativeRun run = run_of(3, fail_with_an_output);
  EXPECT_EQ(output_of(run), "failed: failed as " + attempt_id_of({}, run.id.index, run.attempt));
  EXPECT_EQ(store.find(DataKey{run.id, 0}), nullptr);
  run = run_of(4, return_seven);
  EXPECT_EQ(output_of(run), "failed: returned 7");
  run.function = do_nothing;
  EXPECT_EQ(output_of(run), "");
  run = run_of(5, say_attempt);
  run.attempt = Attempt{2};
  EXPECT_EQ(output_of(run), "2 2 " + attempt_id_of({}, run.id.index, run.attempt));
}

/// More than the allocator ever takes from its heap, so that it counts these bytes apart and gives them back at once.
constexpr std::size_t kLargeOutput = 64UL << 20U;

int allocate_and_fail(penstock_call* call) {
  const std::size_t before = ::mallinfo2().hblkhd;
  if (call->output(call, 0, kLargeOutput) == nullptr) return call->fail(call, "no memory");
  return call->fail(call, ::mallinfo2().hblkhd >= before + kLargeOutput ? "on purpose" : "the bytes are not counted");
}

TEST_F(NativeLanesTest, WhatAFailedRunHasMadeIsFreedWithItsEnd) {
  StoreOptions options;
  options.segment_bytes_min = kLargeOutput * 2;
  ObjectStore plain{options};
  NativeLanes other{plain, {}, note_idle};
  const std::size_t before = ::mallinfo2().hblkhd;
  const NativeEnd end = end_of(run_of(3, allocate_and_fail), other);
  ASSERT_FALSE(end.succeeded);
  if (end.failure->message == "the bytes are not counted")
    GTEST_SKIP() << "the allocator of a sanitizer counts nothing";
  EXPECT_EQ(end.failure->message, "on purpose");
  EXPECT_LT(::mallinfo2().hblkhd, before + kLargeOutput);
}

// `penstock_call` as it is in operator.h of ABI 2: what was built then finds each member where it was.
extern "C" struct EarlierCall {
  std::uint32_t abi, slot, milli_slots, attempt;
  const char* device;
  std::uint64_t memory_bytes;
  penstock_view template_payload, payload;
  const penstock_view* inputs;
  std::uint64_t input_count;
  void* (*output)(EarlierCall*, std::uint32_t, std::uint64_t);
  int (*cancelled)(EarlierCall*);
  int (*fail)(EarlierCall*, const char*);
  std::uint64_t (*device_input)(EarlierCall*, std::uint64_t);
  const void* (*host_input)(EarlierCall*, std::uint64_t);
  std::uint64_t (*device_output)(EarlierCall*, std::uint32_t, std::uint64_t);
};
static_assert(sizeof(EarlierCall) == offsetof(penstock_call, attempt_number), "members are added at the end");

int run_as_built_earlier(penstock_call* given) {
  auto* call = reinterpret_cast<EarlierCall*>(given);
  if (call->abi < 2 || call->cancelled(call) != 0) return call->fail(call, "it is not as it was");
  const std::string said = std::to_string(call->attempt) + " " + std::to_string(call->input_count);
  void* out = call->output(call, 0, said.size());
  if (out == nullptr) return call->fail(call, "no memory");
  std::memcpy(out, said.data(), said.size());
  return 0;
}

TEST_F(NativeLanesTest, AnOperatorOfAnEarlierAbiRunsAndOneOfALaterAbiIsRefused) {
  OperatorRegistry registry;
  const penstock_operator old{"old", run_as_built_earlier};
  ASSERT_TRUE(registry.add({2, 1, &old}, "libold.so"));
  NativeRun run = run_of(4, registry.find("old").run);
  run.attempt = Attempt{attempts_begin(7).value() + 5};
  EXPECT_EQ(output_of(run), "5 2") << "the low half";
  const penstock_operator later{"later", do_nothing};
  const Result<void> added = registry.add({PENSTOCK_OPERATOR_ABI + 1, 1, &later}, "liblater.so");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::VersionMismatch);
}

// The store may still have what another job made that has this number now.
TEST_F(NativeLanesTest, WhatAnotherJobHasMadeIsNotLent) {
  const ExternalDatum datum{{JobId{9}, SubtaskIndex{0}}, 0, {1, 2}};
  const std::string payload = external_datum_payload(datum);
  store.put(DataKey{datum.producer, 0}, Blob::allocate(8));
  NativeRun run = run_of(5, alias_operator);
  run.payload = payload;
  store.name_job(JobId{9}, {1, 3});
  const NativeEnd refused = end_of(run);
  ASSERT_FALSE(refused.succeeded);
  EXPECT_EQ(refused.failure->failure, FailureClass::InputLost);
  store.name_job(JobId{9}, {1, 2});
  EXPECT_TRUE(end_of(run).succeeded);
}

TEST_F(NativeLanesTest, AnInputIsPassedOnWithoutACopy) {
  const DataKey second{{JobId{1}, SubtaskIndex{0}}, 1};
  store.put(second, Blob::allocate(1 << 20));
  NativeRun run = run_of(5, pass_operator);
  run.empty_inputs = 0;
  const NativeEnd end = end_of(run, lanes, {second});
  ASSERT_TRUE(end.succeeded);
  ASSERT_EQ(end.outputs.size(), 1U);
  EXPECT_EQ(end.outputs[0].bytes, 1 << 20);
  const BlobPtr passed = store.find(DataKey{run.id, 0});
  ASSERT_NE(passed, nullptr);
  EXPECT_EQ(passed->bytes().data(), store.find(second)->bytes().data());
}

TEST_F(NativeLanesTest, AnEmptyInputIsPassedOnAsAnEmptyOutput) {
  NativeRun run = run_of(5, pass_operator);
  run.empty_inputs = 1;
  const NativeEnd end = end_of(run);
  EXPECT_TRUE(end.succeeded);
  EXPECT_TRUE(end.outputs.empty());
}

TEST_F(NativeLanesTest, OnlyOneInputIsPassedOn) {
  EXPECT_EQ(output_of(run_of(5, pass_operator)), "failed: pass takes one input, not 2");
}

TEST_F(NativeLanesTest, ClosedOffersAreNotTakenOver) {
  lanes.add_offer(JobId::none(), {}) = run_of(7);
  lanes.open_offers();
  std::vector<NativeEnd> ends;
  lanes.withdraw(ends);
  EXPECT_TRUE(ends.empty());
  lanes.start(SlotIndex{0}, run_of(1), {});
  lanes.open_offers();
  wait_for_idle();
  lanes.withdraw(ends);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].ticket, 1U);
  EXPECT_EQ(ends[0].next_ticket, kNoTicket);
}

TEST_F(NativeLanesTest, ALaneThatFollowsAShortRunByAnotherIsOnShortRunsUntilItIsIdle) {
  NativeLanes of_short{store, kAllRunsAreShort, note_idle};
  EXPECT_FALSE(of_short.any_on_short_runs());
  of_short.add_offer(JobId::none(), {}) = run_of(2);
  of_short.add_offer(JobId::none(), {}) = run_of(3, wait_for_gate);
  gate = kClosed;
  of_short.start(SlotIndex{0}, run_of(1), {});
  of_short.open_offers();
  gate.wait(kClosed);
  EXPECT_TRUE(of_short.any_on_short_runs());
  gate = kOpen;
  wait_for_idle();
  EXPECT_FALSE(of_short.any_on_short_runs());
  std::vector<NativeEnd> ends;
  of_short.withdraw(ends);
  EXPECT_EQ(ends.size(), 3U);
}

TEST_F(NativeLanesTest, ALaneIsNotOnShortRunsAfterALongOne) {
  NativeLanes of_long{store, {.short_run_ns = 0}, note_idle};
  of_long.add_offer(JobId::none(), {}) = run_of(2, wait_for_gate);
  gate = kClosed;
  of_long.start(SlotIndex{0}, run_of(1), {});
  of_long.open_offers();
  gate.wait(kClosed);
  EXPECT_FALSE(of_long.any_on_short_runs());
  gate = kOpen;
  wait_for_idle();
}

// Otherwise it would be idle before anything is on offer to it, and ask for the next round of the core.
TEST_F(NativeLanesTest, AfterAShortRunALaneBeginsWhenItsNextRunsAreOnOffer) {
  NativeLanes of_short{store, kAllRunsAreShort, note_idle};
  end_of(run_of(1), of_short);
  of_short.add_offer(JobId::none(), {}) = run_of(3);
  of_short.start(SlotIndex{0}, run_of(2), {});
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // Long enough for the run, if it began.
  of_short.open_offers();
  wait_for_idle();
  std::vector<NativeEnd> ends;
  of_short.withdraw(ends);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].next_ticket, 3U);
}

TEST_F(NativeLanesTest, TheEndCancelsWhatRunsAndWhatIsOnOfferNeverStarts) {
  lanes.start(SlotIndex{0}, run_of(1, wait_to_be_cancelled), {});
  lanes.add_offer(JobId::none(), {}) = run_of(2);
  lanes.open_offers();
  lanes.end();
  std::vector<NativeEnd> ends;
  lanes.withdraw(ends);
  for (const NativeEnd& end : ends) EXPECT_EQ(end.ticket, 1U);
}

// An operator that knows of the stop may return anything: what it has made so far is no output.
TEST_F(NativeLanesTest, AnOperatorThatWasToldToStopHasNotSucceeded) {
  lanes.start(SlotIndex{0}, run_of(1, wait_to_be_cancelled), {});
  lanes.cancel(SlotIndex{0}, 1, false);
  lanes.open_offers();
  wait_for_idle();
  std::vector<NativeEnd> ends;
  lanes.withdraw(ends);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_FALSE(ends[0].succeeded);
  lanes.start(SlotIndex{0}, run_of(2), {});
  lanes.open_offers();
  wait_for_idle();
  lanes.withdraw(ends);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_TRUE(ends[1].succeeded) << "the next run knows nothing of it";
}

// Tickets are used again: those of records that are used again.
TEST_F(NativeLanesTest, ACancelThatComesTooLateDoesNotHitTheNextRunOfThatTicket) {
  for (int round = 0; round < 2; ++round) {
    lanes.start(SlotIndex{0}, run_of(1, fail_if_cancelled), {});
    lanes.open_offers();
    wait_for_idle();
    lanes.cancel(SlotIndex{0}, 1, false);  // The run has ended, but its end is not known yet.
    std::vector<NativeEnd> ends;
    lanes.withdraw(ends);
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_TRUE(ends[0].succeeded) << "round " << round;
  }
}

// Commands share the numbers of lanes and have no threads there; a run of theirs may have had the same ticket.
TEST_F(NativeLanesTest, WhatWasSaidToACommandOfALaneIsNotSaidToItsNextRun) {
  lanes.start(SlotIndex{1}, run_of(1), {});
  lanes.open_offers();
  wait_for_idle();
  lanes.cancel(SlotIndex{0}, 7, true);
  lanes.end_overdue(SlotIndex{0}, 7);
  lanes.start(SlotIndex{0}, run_of(7, fail_if_cancelled), {});
  lanes.open_offers();
  wait_for_idle();
  std::vector<NativeEnd> ends;
  lanes.withdraw(ends);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_TRUE(ends[0].succeeded);
  EXPECT_TRUE(ends[1].succeeded);
}

/// Operators that lend their slots, and what stands for the core: each wish is noted, and answered at once or by the
/// test.
class LentSlots : public NativeLanesTest {
 protected:
  NativeLanesConfig config() {
    NativeLanesConfig made;
    made.tell_slot_wish = [this](std::uint64_t ticket, Attempt, SlotWish wish) {
      if (wish == SlotWish::Lend) other->answer_yield(SlotIndex{0}, ticket, true);
      const std::lock_guard lock{mutex};
      wishes.push_back(wish);
      news.notify_all();
    };
    return made;
  }
  void await_wishes(std::size_t count) {
    std::unique_lock lock{mutex};
    ASSERT_TRUE(news.wait_for(lock, std::chrono::seconds{30}, [&] { return wishes.size() >= count; }));
  }
  NativeEnd end() {
    wait_for_idle();
    std::vector<NativeEnd> ends;
    other->withdraw(ends);
    EXPECT_EQ(ends.size(), 1U);
    return ends.empty() ? NativeEnd{} : std::move(ends.front());
  }
  std::string text_of(const NativeEnd& end, std::uint32_t subtask) {
    if (!end.succeeded) return "failed: " + end.failure->message;
    const BlobPtr blob = store.find(DataKey{{JobId{1}, SubtaskIndex{subtask}}, 0});
    if (blob == nullptr) return {};
    return {reinterpret_cast<const char*>(blob->bytes().data()), blob->bytes().size()};
  }

  std::vector<SlotWish> wishes;  ///< Guarded by the mutex.
  std::unique_ptr<NativeLanes> other = std::make_unique<NativeLanes>(store, config(), note_idle);
};

std::atomic<bool> nested_has_run{false};

int run_nested(penstock_call*) {
  nested_has_run = true;
  nested_has_run.notify_all();
  return 0;
}

int wait_for_nested(penstock_call* call) {
  {
    SlotYield yielded(call);
    if (yielded.error() != 0) return 1;
    nested_has_run.wait(false);
  }
  return write_output(call, "waited");
}

TEST_F(LentSlots, WhatRunsMeanwhileRunsOnAnotherLane) {
  nested_has_run = false;
  other->start(SlotIndex{0}, run_of(1, wait_for_nested), {});
  other->open_offers();
  await_wishes(1);
  other->start(SlotIndex{1}, run_of(2, run_nested), {});
  other->open_offers();
  EXPECT_EQ(end().ticket, 2U);
  await_wishes(2);
  other->resume(SlotIndex{0}, 1);
  EXPECT_EQ(text_of(end(), 1), "waited");
}

int lend_and_wait_for_the_slot(penstock_call* call) {
  const int datum = penstock_yield_slot(call);
  const int taken = penstock_take_slot_back(call);
  const std::string answers = std::to_string(datum) + " " + std::to_string(taken);
  return taken == 0 ? write_output(call, answers) : call->fail(call, answers.c_str());
}

TEST_F(LentSlots, WhoWaitsForHisSlotHearsOfACancel) {
  other->start(SlotIndex{0}, run_of(1, lend_and_wait_for_the_slot), {});
  other->open_offers();
  await_wishes(2);
  other->resume(SlotIndex{0}, 7);  // Of another run.
  other->cancel(SlotIndex{0}, 1, false);
  EXPECT_EQ(text_of(end(), 1), "failed: 0 " + std::to_string(PENSTOCK_SLOT_CANCELLED));
  // The next run of the lane finds nothing of it.
  other->resume(SlotIndex{0}, 1);
  other->start(SlotIndex{0}, run_of(2, lend_and_wait_for_the_slot), {});
  other->open_offers();
  await_wishes(4);
  other->resume(SlotIndex{0}, 2);
  EXPECT_EQ(text_of(end(), 2), "0 0");
}

TEST_F(LentSlots, TheEndOfTheLanesDoesNotWaitForASlot) {
  other->start(SlotIndex{0}, run_of(1, lend_and_wait_for_the_slot), {});
  other->open_offers();
  await_wishes(2);
  other->end();
  EXPECT_EQ(text_of(end(), 1), "failed: 0 " + std::to_string(PENSTOCK_SLOT_CANCELLED));
}

TEST_F(LentSlots, LanesWithoutACoreLendNothing) {
  NativeRun run = run_of(3, [](penstock_call* call) { return penstock_yield_slot(call); });
  const NativeEnd refused = end_of(run);
  ASSERT_FALSE(refused.succeeded);
  EXPECT_EQ(refused.failure->exit_code, PENSTOCK_SLOT_UNSUPPORTED);
}

/// While one lives, the calling process has no thread or process more to get.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    ::getrlimit(RLIMIT_NPROC, &before_);
    const rlimit none{1, before_.rlim_max};
    ::setrlimit(RLIMIT_NPROC, &none);
  }
  ~NoMoreThreads() { ::setrlimit(RLIMIT_NPROC, &before_); }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  rlimit before_{};
};

void blocking_work_behavior(caf::event_based_actor* self, bool* done) {
  ActorWork{*self, "disk"}.add(BlockingWork::Turn::Later, [done] { *done = true; });
}

/// The number of the first failure, or 0.
int run_without_threads() {
  if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;  // The limit is not for root.
  ObjectStore store;
  std::atomic<int> idle{0};
  NativeLanes lanes{store, {}, [&] { ++idle; }};
  const Template program;
  NativeRun run;
  run.program = &program;
  run.ticket = 1;
  run.function = do_nothing;
  std::vector<NativeEnd> ends;
  {
    const NoMoreThreads none;
    lanes.start(SlotIndex{0}, run, {});
    lanes.open_offers();
    if (idle != 1) return 2;
    lanes.withdraw(ends);
    if (ends.size() != 1 || ends[0].succeeded || ends[0].failure->failure != FailureClass::Exhausted) return 3;
    bool done = false;
    Loop loop{Duration{0}};
    ActorHost actors{loop};
    actors.system().spawn(blocking_work_behavior, &done);
    while (loop.turn()) {
    }
    if (!done) return 4;
  }
  run.ticket = 2;
  ends.clear();
  lanes.start(SlotIndex{0}, run, {});
  lanes.open_offers();
  while (ends.empty()) {
    std::this_thread::yield();
    lanes.withdraw(ends);
  }
  return ends[0].succeeded && ends[0].ticket == 2 ? 0 : 5;
}

// Fault F33: the start of a thread threw where no code catches, and the worker died of it.
TEST(WithoutThreads, ARunIsRefusedAndTheNextOneAsksAgain) {
  // tidy: allow call: a limit of the whole process
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run_without_threads());
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace penstock::worker
