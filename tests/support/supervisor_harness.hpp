// A supervisor's core with short words for what happens to it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "supervisor/core/supervisor_core.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::supervisor {

/// A worker as a test describes it: one CPU band unless it says more.
struct WorkerSpec {
  std::uint32_t slots = 1;
  std::uint32_t bands = 1;
  std::uint32_t gpus = 0;  ///< Bands of one device each.
  Bytes memory = kGiB;
  Bytes device_memory{};
  MilliCpu cpu{};  ///< Of each band.
  std::vector<std::string> operators;
  std::vector<NamedAmount> named;
  bool shared_storage = false;
  Bytes store_bytes_max{};  ///< 0: what all have read is dropped at once.
  bool log_questions = true;
  bool barriers = false;
  std::optional<OperatorCrash> crash{};
  std::vector<std::string> labels{};
  std::vector<std::string> users{};
  MilliSlots less{};  ///< Its bands have so much less than whole slots.
};

/// Checks a graph as the gateway does.
Result<std::unique_ptr<GraphShape>> check_graph(const Graph& graph, const GraphLimits& limits = {});

/// The value of a result; fails the test and gives an empty value where there is none.
std::unique_ptr<GraphShape> shape_of(const Graph& graph);

/// Feeds events to a `SupervisorCore`, validates it after each, and keeps what it wants done. A test that leaves an
/// action unlooked-at fails: take them with `assigned()`, `take<DropBatch>()` and so on, or say `ignore()`. Greetings,
/// acknowledged reports, forgotten jobs and plain progress need not be looked at.
class SupervisorHarness {
 public:
  explicit SupervisorHarness(SupervisorConfig config = {}, Durability durability = Durability::None);
  ~SupervisorHarness();

  /// Workers are numbered and named from 1: `w1` is `worker-1`.
  WorkerId join(const WorkerSpec& spec = {});
  /// The holdings of a worker from an earlier life of the supervisor, as a test describes it.
  struct Return {
    std::vector<JobReports> reports;  ///< Not known to be applied.
    std::vector<ClaimedJob> jobs;
    bool draining = false;
    WorkerSpec spec{};
    std::vector<ReplicaReport> replicas{};  ///< Not known to be applied either.
  };
  /// The worker comes back and claims. Attempts that it claims can be reported afterwards like what it was assigned.
  void come_back(std::uint32_t worker, const Return& back);
  void lose(std::uint32_t worker, const std::string& reason = "silent");

  JobIdentity next_identity{};  ///< Of the jobs that are submitted; none for tests that do not care.
  /// Jobs are numbered from 1. None if it was refused: see `refusal()`.
  JobId submit(const Graph& graph, JobSpec spec = {}, ClientId client = ClientId{1});
  const Error& refusal() const { return last_reply_.refusal; }
  const SubmitReply& last_reply() const { return last_reply_; }

  // The report of a worker on the attempt that it was last given.
  void succeed(std::uint32_t worker, std::uint32_t subtask, std::vector<OutputReport> outputs = {},
               std::uint32_t job = 1);
  void fail(std::uint32_t worker, std::uint32_t subtask, FailureDetail detail, std::uint32_t job = 1);
  void fail(std::uint32_t worker, std::uint32_t subtask, FailureClass failure, std::uint32_t job = 1);
  /// Started, Cancelled or Returned.
  void say(std::uint32_t worker, std::uint32_t subtask, Outcome outcome, std::uint32_t job = 1);
  /// Any report, also one that no worker should make.
  void report(std::uint32_t worker, const JobReports& reports);
  void report_load(std::uint32_t worker, const BandLoad& load);
  void report_replica(std::uint32_t worker, std::uint32_t producer, std::uint32_t job = 1);
  void worker_says(std::uint32_t worker, const FromWorker& message);

  void client_says(const FromClient& message, ClientId client = ClientId{1});
  Viewer viewer;  ///< On behalf of which `ask` asks.
  /// Asks as an operator does; the answer must come at once, but for workers that confirm a cancel.
  Result<Value> ask(const std::string& command, std::vector<std::string> arguments = {});
  void tick_after(Duration delay);
  /// Lets time pass until the core's next deadline and ticks it there.
  void tick_at_deadline();
  void handle(SupervisorEvent&& event);

  /// Assignments since the last call, in order: `0 to w1`, `1#2 to w1, cached`; of other jobs than the first `2:0 to
  /// w1`.
  std::vector<std::string> assigned();
  /// All that was cancelled, dropped or asked back since the last call, as `0 at w1`; `all at w1` for a whole job.
  std::vector<std::string> cancels();
  std::vector<std::string> drops();
  std::vector<std::string> steals();
  /// Progress for `client` since the last call.
  std::vector<JobProgress> news(ClientId client = ClientId{1});
  template <class Message>
  std::vector<std::pair<WorkerId, Message>> take();
  template <class Message>
  std::vector<Message> take_for(ClientId client = ClientId{1});
  std::vector<Error> alerts();
  /// The records since the last call.
  std::vector<supervisor_action::Persist> take_persists();
  /// Passes of the policy that were ordered since the last call.
  std::vector<supervisor_action::RunPass> take_passes();
  /// Actions of that kind since the last call.
  template <class Action>
  std::vector<Action> take_actions();
  void ignore() { actions_.clear(); }

  SupervisorCore& core() { return core_; }
  const Job& job(std::uint32_t number = 1);
  JobState state(std::uint32_t number = 1) { return job(number).status.state; }
  /// REQUIRES: the job has not been released; one that ends without outputs is.
  SubtaskPhase phase(std::uint32_t subtask, std::uint32_t number = 1) { return job(number).hot.at(subtask).phase; }
  Instant now() const { return now_; }

 private:
  static Register describe(WorkerId id, const WorkerSpec& spec);
  AttemptReport report_of(std::uint32_t worker, std::uint32_t subtask, std::uint32_t job);

  void copy_graphs(supervisor_action::Persist& persist);

  SupervisorCore core_;
  const Durability durability_;
  std::vector<supervisor_action::Persist> persists_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  Instant now_ = instant_at(std::chrono::seconds{1000});
  std::vector<SupervisorAction> actions_;
  std::map<std::pair<WorkerId, SubtaskId>, Assignment> held_;
  std::map<WorkerId, std::uint64_t> report_numbers_;
  SubmitReply last_reply_;
  std::uint32_t next_worker_ = 1;
  std::uint64_t next_submission_ = 1;
  std::uint64_t next_request_ = 1;
};

template <class Message>
std::vector<std::pair<WorkerId, Message>> SupervisorHarness::take() {
  std::vector<std::pair<WorkerId, Message>> found;
  std::erase_if(actions_, [&](SupervisorAction& action) {
    auto* order = std::get_if<supervisor_action::SendToWorker>(&action);
    Message* message = order == nullptr ? nullptr : std::get_if<Message>(&order->message);
    if (message == nullptr) return false;
    found.emplace_back(order->worker, std::move(*message));
    return true;
  });
  return found;
}

template <class Message>
std::vector<Message> SupervisorHarness::take_for(ClientId client) {
  std::vector<Message> found;
  std::erase_if(actions_, [&](SupervisorAction& action) {
    auto* word = std::get_if<supervisor_action::SendToClient>(&action);
    Message* message = word == nullptr || word->client != client ? nullptr : std::get_if<Message>(&word->message);
    if (message == nullptr) return false;
    found.push_back(std::move(*message));
    return true;
  });
  return found;
}

template <class Action>
std::vector<Action> SupervisorHarness::take_actions() {
  std::vector<Action> found;
  std::erase_if(actions_, [&](SupervisorAction& action) {
    auto* wanted = std::get_if<Action>(&action);
    if (wanted != nullptr) found.push_back(std::move(*wanted));
    return wanted != nullptr;
  });
  return found;
}

using Lines = std::vector<std::string>;

}  // namespace penstock::supervisor
