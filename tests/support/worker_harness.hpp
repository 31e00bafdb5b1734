// A worker's core with short words for what happens to it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker/core/worker_core.hpp"

namespace penstock::worker {

/// One subtask as a test describes it.
struct SubtaskSpec {
  std::uint32_t subtask = 0;
  std::uint16_t attempt = 1;
  std::uint64_t priority = 0;                ///< Of the user: compared across jobs.
  std::vector<std::uint32_t> missing;        ///< Producers that have not finished; order edges.
  std::vector<AssignedInput> inputs;         ///< Any others.
  std::uint32_t template_index = 0;
  std::uint16_t band = 0;
};

/// Feeds events to a `WorkerCore`, validates it after each, and keeps what it wants done. A test that leaves an action
/// unlooked-at fails: take them with `started()`, `reports()` and so on, or say `ignore()`.
class WorkerHarness {
 public:
  explicit WorkerHarness(std::uint32_t slots = 1, Bytes memory = kGiB, WorkerConfig config = {});
  explicit WorkerHarness(const BandDescription& only, WorkerConfig config = {})
      : core_(config, {only}), templates_(1) {}
  ~WorkerHarness();

  static BandDescription band(std::uint32_t slots, Bytes memory);

  Template& template_at(std::uint32_t index);
  void assign(const std::vector<SubtaskSpec>& subtasks, std::uint32_t job = 1);
  void receive(const ToWorker& message);
  void tick_after(Duration delay);
  void handle(const WorkerEvent& event);

  /// The end of a run that was started, to be changed and handed to `handle`.
  RunEnd end_of(std::uint32_t subtask, std::uint32_t job = 1);
  /// Ends the run of a subtask that was started.
  void succeed(std::uint32_t subtask, std::vector<OutputReport> outputs = {}, std::uint32_t job = 1);
  void succeed_both(std::uint32_t first, std::uint32_t second);
  void fail(std::uint32_t subtask, FailureClass failure = FailureClass::UserError, std::uint32_t job = 1);
  void fetched(std::uint32_t producer, std::int64_t bytes, std::uint32_t job = 1);

  /// Subtasks started since the last call, in order.
  std::vector<std::uint32_t> started();
  /// Attempt reports since the last call, in order, as `3 Succeeded`.
  std::vector<std::string> reports();
  std::vector<FailureDetail> failures();
  std::vector<std::uint32_t> fetches();
  template <class Action>
  std::vector<Action> take();
  void ignore() { actions_.clear(); }

  WorkerCore& core() { return core_; }
  Instant now() const { return now_; }

 private:
  WorkerCore core_;
  Instant now_ = instant_at(std::chrono::seconds{1000});
  std::vector<Template> templates_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, worker_action::StartSubtask> runs_;
  std::vector<WorkerAction> actions_;
};

template <class Action>
std::vector<Action> WorkerHarness::take() {
  std::vector<Action> found;
  std::vector<WorkerAction> rest;
  for (WorkerAction& action : actions_) {
    if (Action* match = std::get_if<Action>(&action))
      found.push_back(*match);
    else
      rest.push_back(action);
  }
  actions_ = std::move(rest);
  return found;
}

std::string_view name_of(Outcome outcome);

}  // namespace penstock::worker
