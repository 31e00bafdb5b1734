// The inputs that a run is told of, whatever order notices, drops, ends and assignments come in.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/worker_harness.hpp"

namespace penstock::worker {
namespace {

constexpr std::uint32_t kProducers = 4;
constexpr std::uint16_t kOutputs = 2;
constexpr std::uint32_t kFirstReader = 100;

/// The kind of event, its producer, and the outputs that are meant, a bit for each.
using Step = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>;

/// A worker and a supervisor that knows what each producer makes. All that it says is true when it says it; what it
/// orders to be dropped, and when, is arbitrary.
class Inputs {
 public:
  explicit Inputs(std::uint8_t made) : made_(made) { worker_.template_at(0).output_count = kOutputs; }
  ~Inputs() { worker_.ignore(); }

  void apply(const Step& step) {
    const auto& [kind, a, outputs] = step;
    const std::uint32_t producer = a % kProducers;
    switch (kind % 9) {
      case 0:
      case 1: assign_reader(outputs, InputPlace::Missing); break;
      case 2: assign_reader(outputs, a % 2 == 0 ? InputPlace::Here : InputPlace::Remote); break;
      case 3: worker_.assign({{.subtask = producer, .attempt = ++attempt_}}); break;
      case 4:
        if (running_.erase(producer) > 0) worker_.succeed(producer, outputs_of(producer));
        break;
      case 5: notice(producer); break;
      case 6: drop(producer, outputs % 2 == 0); break;
      case 7: end_fetches(outputs % 4 != 0); break;
      case 8: worker_.receive(ReportsApplied{attempt_}); break;
    }
    look_at_starts();
  }

 private:
  std::int64_t bytes(std::uint32_t producer, std::uint16_t output) const {
    return (made_ >> (producer * kOutputs + output) & 1U) * 64;
  }
  std::vector<OutputReport> outputs_of(std::uint32_t producer) const {
    std::vector<OutputReport> outputs;
    for (std::uint16_t output = 0; output < kOutputs; ++output)
      if (bytes(producer, output) > 0) outputs.push_back({output, bytes(producer, output)});
    return outputs;
  }

  void assign_reader(std::uint8_t outputs, InputPlace place) {
    SubtaskSpec spec{.subtask = next_reader_++};
    for (std::uint32_t producer = 0; producer < kProducers; ++producer)
      for (std::uint16_t output = 0; output < kOutputs; ++output) {
        if ((outputs >> (producer * kOutputs + output) & 1U) == 0) continue;
        const std::int64_t size = place == InputPlace::Missing ? 0 : bytes(producer, output);
        const bool elsewhere = place == InputPlace::Remote && size > 0;
        const InputPlace told = place == InputPlace::Remote && size == 0 ? InputPlace::Here : place;
        spec.inputs.push_back({SubtaskIndex{producer}, output, told, elsewhere ? WorkerId{7} : WorkerId::none(), size});
      }
    for (const AssignedInput& input : spec.inputs)
      readers_[spec.subtask].emplace_back(input.producer.value(), input.output);
    worker_.assign({spec});
  }

  void notice(std::uint32_t producer) {
    InputNoticeBatch batch{JobId{1}, {}};
    for (const OutputReport& output : outputs_of(producer))
      batch.notices.push_back({SubtaskIndex{producer}, output.output, WorkerId{7}, output.bytes});
    if (batch.notices.empty()) batch.notices.push_back({SubtaskIndex{producer}, EdgeKind::kOrderOnly, WorkerId{7}, 0});
    worker_.receive(batch);
  }

  void drop(std::uint32_t producer, bool lost) {
    DropBatch batch{JobId{1}, lost, {}};
    for (const OutputReport& output : outputs_of(producer))
      batch.data.push_back({SubtaskIndex{producer}, output.output});
    worker_.receive(batch);
  }

  void end_fetches(bool succeeded) {
    for (const auto& fetch : worker_.take<worker_action::FetchInput>()) {
      const FetchEnd end{fetch.key, succeeded, fetch.bytes, !succeeded};
      worker_.handle(worker_event::FetchesEnded{std::span{&end, 1}});
    }
  }

  void look_at_starts() {
    for (auto starts = worker_.take<worker_action::StartSubtask>(); !starts.empty();
         starts = worker_.take<worker_action::StartSubtask>())
      for (const worker_action::StartSubtask& start : starts) {
        if (start.id.index.value() < kFirstReader) {
          running_.insert(start.id.index.value());
          continue;
        }
        check(start);
        worker_.succeed(start.id.index.value());
      }
    worker_.reports();
    worker_.take<worker_action::DropDatum>();
  }

  void check(const worker_action::StartSubtask& start) const {
    for (const RunInput& input : start.inputs)
      RC_ASSERT(input.empty == (bytes(input.producer.value(), input.output) == 0));
    const auto reads = readers_.find(start.id.index.value());
    const std::size_t count = reads == readers_.end() ? 0 : reads->second.size();
    RC_ASSERT(start.inputs.size() + start.omitted_inputs == count);
    if (start.omitted_inputs == 0) return;  // Else all of them are only counted, because they are empty.
    for (const auto& [producer, output] : reads->second) RC_ASSERT(bytes(producer, output) == 0);
  }

  WorkerHarness worker_{8};
  const std::uint8_t made_;
  std::uint16_t attempt_ = 0;
  std::uint32_t next_reader_ = kFirstReader;
  std::set<std::uint32_t> running_;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint16_t>>> readers_;
};

TEST(Inputs, WhatARunIsToldToBeEmptyWasMadeEmpty) {
  EXPECT_TRUE(rc::check("absence is never emptiness", [](std::uint8_t made, const std::vector<Step>& steps) {
    Inputs inputs{made};
    for (const Step& step : steps) inputs.apply(step);
  }));
}

}  // namespace
}  // namespace penstock::worker
