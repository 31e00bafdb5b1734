// Penstock for C++ engines: graphs with typed handles, jobs, results. Over penstock.h, so that it fits any compiler and
// any version of libpenstock.so with the same ABI; nothing but the standard library is included.
//
//     penstock::engine::Client client = penstock::engine::Client::open().value();  // A cluster inside this process.
//     penstock::engine::GraphBuilder graph;
//     const auto square = graph.operation<double>("square");                    // A native operator; see operator.h.
//     const auto nine = graph.add(square, graph.value(3.0));
//     penstock::engine::Job job = client.submit(std::move(graph), {}).value();
//     const double result = job.result(nine).value();
#pragma once

#if __cplusplus < 202002L
#error "penstock/client.hpp needs C++20: compile with -std=c++20, or include penstock/penstock.h alone"
#endif

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "expected.hpp"  // tidy: allow arrows: engines have these headers without the root
#include "penstock.h"    // tidy: allow arrows: the same

namespace penstock::engine {

/// The part that subtasks share. Made by a `GraphBuilder`; `T` is the type of output: a trivial type, or std::string
/// for bytes.
template <class T>
struct Operation {
  std::uint32_t number = 0;
  std::uint64_t graph = 0;  ///< Number of its `GraphBuilder`; any other refuses it. 0: any.
};

/// One subtask of a graph, with the type of its output.
template <class T>
struct Handle {
  std::uint32_t subtask = 0;
  std::uint64_t graph = 0;  ///< As in `Operation`; a `Job` of another graph refuses it, too.
  std::uint16_t output = 0;
};

/// Another output of an operation with several (`OperationOptions::outputs`).
template <class U, class T>
Handle<U> output_of(Handle<T> handle, std::uint16_t output) {
  return {handle.subtask, handle.graph, output};
}

/// As an input: only the order, no datum. A subtask with it begins after the other has succeeded.
struct Order {};
template <class T>
Handle<Order> after(Handle<T> handle) {
  return {handle.subtask, handle.graph, PENSTOCK_ORDER_ONLY};
}

/// Options for running the subtasks of an operation.
struct OperationOptions {
  std::string name;     ///< For people; empty: the program.
  std::string payload;  ///< The same for all subtasks.
  std::uint32_t milli_slots = 0;  ///< 0: 1000, or `milli_gpu` where that is a part of one.
  std::int64_t memory_bytes = 0;
  /// An attempt that used more is repeated with twice as much, up to this; 0: with the same.
  std::int64_t memory_bytes_max = 0;
  std::uint32_t milli_gpu = 0;  ///< 1000 is a whole GPU.
  std::int64_t gpu_memory_bytes = 0;
  std::int32_t priority = 0;
  std::uint32_t attempts_max = 0;  ///< 0: as the supervisor is configured.
  std::chrono::nanoseconds time_limit{0};
  bool continue_on_failure = false;  ///< A failed subtask cancels only its successors.
  std::uint16_t outputs = 1;         ///< Outputs of each subtask; see `output_of`.
  // Of a runner:
  std::vector<std::string> environment;  ///< `NAME=value`, beside the environment of its worker.
  std::string working_directory;         ///< Empty: that of its worker.
  // Of all:
  /// Name and amount of resources that its worker must have.
  std::vector<std::pair<std::string, std::int64_t>> resources;
  /// Required: only there. Preferred: there if it is ready. Empty: anywhere.
  std::string required_worker, preferred_worker;
  bool not_retryable = false;            ///< Never run a second time once it may have started.
  bool never_overlaps = false;  ///< A worker that is cut off kills its run before another begins; not of native ones.
  std::chrono::nanoseconds expected{0};  ///< Duration of one subtask; 0: as measured.
};

/// Options of one subtask.
struct SubtaskOptions {
  std::string_view payload;
  std::int32_t priority = 0;  ///< Added to that of its operation.
  std::string_view name;      ///< For people; unique. Empty: its number.
};

class Job;

/// A graph in the making. Moved, never copied; for one thread. Subtasks are kept as columns, and given to the library
/// in chunks of `kChunk`, so a graph of any size needs its memory once.
class GraphBuilder {
 public:
  GraphBuilder() : graph_(penstock_graph_new()) {}

  /// A native operator by its name.
  template <class T>
  Operation<T> operation(const std::string& program, const OperationOptions& options = {}) {
    return {add_template(PENSTOCK_NATIVE, program, {}, options), number_};
  }
  /// A runner that is started as `command`; its first word is the program.
  template <class T>
  Operation<T> runner(const std::vector<std::string>& command, const OperationOptions& options = {}) {
    if (command.empty()) {
      refuse("command of a runner", "is empty");
      return {0, number_};
    }
    return {add_template(PENSTOCK_PROCESS, command.front(), {command.begin() + 1, command.end()}, options), number_};
  }

  /// A subtask with this value as output.
  template <class T>
  Handle<T> value(const T& data) {
    if (!literal_) literal_ = add_template(PENSTOCK_NATIVE, "literal", {}, {});
    return {add_one(*literal_, bytes_of(data)), number_};
  }
  /// The output of an earlier job as an input of this graph, without a copy, wherever in the cluster it is held. The
  /// lender must keep it (see `want`), and must not be released before this graph is submitted. An output that was lost
  /// since, or is empty, fails as `InputLost`; for an empty one use `value`. The loan names the job's identity: if its
  /// number belongs to another job by then, `Client::submit` fails as `NotFound`.
  template <class T>
  Handle<T> borrow(const Job& lender, Handle<T> lent);
  /// A subtask with these inputs, in this order. `Client::submit` reports a mistake.
  template <class T, class... Inputs>
  Handle<T> add(Operation<T> operation, Handle<Inputs>... inputs) {
    return add_with(operation, {}, inputs...);
  }
  template <class T, class Input>
  Handle<T> add(Operation<T> operation, const std::vector<Handle<Input>>& inputs, std::string_view payload = {}) {
    return add_as(operation, SubtaskOptions{payload, 0, {}}, inputs);
  }
  /// With a payload of its own.
  template <class T, class... Inputs>
  Handle<T> add_with(Operation<T> operation, std::string_view payload, Handle<Inputs>... inputs) {
    return add_as(operation, SubtaskOptions{payload, 0, {}}, inputs...);
  }
  /// With more than a payload of its own.
  template <class T, class... Inputs>
  Handle<T> add_as(Operation<T> operation, const SubtaskOptions& options, Handle<Inputs>... inputs) {
    check(operation.graph);
    (add_edge(inputs), ...);
    return {add_one(operation.number, options), number_};
  }
  template <class T, class Input>
  Handle<T> add_as(Operation<T> operation, const SubtaskOptions& options, const std::vector<Handle<Input>>& inputs) {
    check(operation.graph);
    for (const Handle<Input>& input : inputs) add_edge(input);
    return {add_one(operation.number, options), number_};
  }
  /// Keeps this result; without any call, the results without a reader are kept.
  template <class T>
  void want(Handle<T> handle) {
    check(handle.graph);
    wanted_.push_back(handle.subtask);
  }
  std::uint32_t size() const { return given_ + static_cast<std::uint32_t>(templates_.size()); }

 private:
  friend class Client;
  static constexpr std::size_t kChunk = 1 << 16;
  struct Free {
    void operator()(penstock_graph* graph) const { penstock_graph_free(graph); }
  };

  template <class T>
  static std::string_view bytes_of(const T& data) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return data;
    } else {
      static_assert(std::is_trivially_copyable_v<T>, "give the bytes of it as a std::string");
      return {reinterpret_cast<const char*>(&data), sizeof data};
    }
  }

  static std::vector<const char*> texts_of(const std::vector<std::string>& strings) {
    std::vector<const char*> texts;
    for (const std::string& text : strings) texts.push_back(text.c_str());
    return texts;
  }

  std::uint32_t add_template(std::uint32_t runner, const std::string& program,
                             const std::vector<std::string>& arguments, const OperationOptions& options) {
    const std::vector<const char*> texts = texts_of(arguments);
    const std::vector<const char*> environment = texts_of(options.environment);
    std::vector<penstock_amount> resources;
    for (const auto& [name, amount] : options.resources) resources.push_back({name.c_str(), amount});
    penstock_template content{};
    content.size = sizeof content;
    content.runner = runner;
    content.program = program.c_str();
    content.name = options.name.empty() ? program.c_str() : options.name.c_str();
    content.arguments = texts.data();
    content.argument_count = static_cast<std::uint32_t>(texts.size());
    content.environment = environment.data();
    content.environment_count = static_cast<std::uint32_t>(environment.size());
    content.working_directory = options.working_directory.empty() ? nullptr : options.working_directory.c_str();
    content.payload = {options.payload.data(), options.payload.size()};
    content.milli_slots = options.milli_slots;
    content.memory_bytes = options.memory_bytes;
    content.memory_bytes_max = options.memory_bytes_max;
    content.milli_gpu = options.milli_gpu;
    content.gpu_memory_bytes = options.gpu_memory_bytes;
    content.priority = options.priority;
    content.attempts_max = options.attempts_max;
    content.time_limit_ns = options.time_limit.count();
    content.continue_on_failure = options.continue_on_failure ? 1 : 0;
    content.output_count = options.outputs;
    content.resources = resources.data();
    content.resource_count = static_cast<std::uint32_t>(resources.size());
    content.required_worker = options.required_worker.c_str();
    content.preferred_worker = options.preferred_worker.c_str();
    content.not_retryable = options.not_retryable ? 1 : 0;
    content.never_overlaps = options.never_overlaps ? 1 : 0;
    content.expected_ns = options.expected.count();
    const std::int64_t number = penstock_graph_add_template(graph_.get(), &content);
    if (number < 0 && !failure_) failure_ = last_failure();
    return number < 0 ? 0 : static_cast<std::uint32_t>(number);
  }

  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};  // Invariant: only counted up; tests/integration/abi.
    return ++last;
  }
  void refuse(std::string subject, std::string message) {
    if (!failure_) failure_ = Failure{"InvalidArgument", std::move(subject), std::move(message), {}};
  }
  void check(std::uint64_t graph) {
    if (graph != 0 && graph != number_) refuse("handle", "is one of another graph: `borrow` it from its job");
  }

  template <class T>
  void add_edge(Handle<T> input) {
    check(input.graph);
    predecessors_.push_back(input.subtask);
    outputs_.push_back(input.output);
  }
  /// Adds a subtask with the edges that were added since the last one.
  std::uint32_t add_one(std::uint32_t operation, std::string_view payload) {
    return add_one(operation, SubtaskOptions{payload, 0, {}});
  }
  std::uint32_t add_one(std::uint32_t operation, const SubtaskOptions& options) {
    const std::uint32_t number = size();
    // Unused columns stay empty.
    if (options.priority != 0) {
      priorities_.resize(templates_.size(), 0);
      priorities_.push_back(options.priority);
    }
    if (!options.name.empty()) {
      name_offsets_.resize(templates_.size() + 1, static_cast<std::uint32_t>(names_.size()));
      names_ += options.name;
      name_offsets_.push_back(static_cast<std::uint32_t>(names_.size()));
    }
    templates_.push_back(operation);
    offsets_.push_back(static_cast<std::uint32_t>(predecessors_.size()));
    payloads_ += options.payload;
    payload_offsets_.push_back(payloads_.size());
    if (templates_.size() == kChunk) give();
    return number;
  }

  void give() {
    penstock_subtasks columns{};
    columns.size = sizeof columns;
    columns.count = static_cast<std::uint32_t>(templates_.size());
    columns.templates = templates_.data();
    columns.input_offsets = offsets_.data();
    columns.predecessors = predecessors_.data();
    columns.outputs = outputs_.data();
    columns.payload_offsets = payload_offsets_.data();
    columns.payloads = payloads_.data();
    if (!priorities_.empty()) {
      priorities_.resize(templates_.size(), 0);
      columns.priorities = priorities_.data();
    }
    if (!name_offsets_.empty()) {
      name_offsets_.resize(templates_.size() + 1, static_cast<std::uint32_t>(names_.size()));
      columns.name_offsets = name_offsets_.data();
      columns.names = names_.data();
      columns.name_bytes = static_cast<std::uint32_t>(names_.size());
    }
    if (columns.count > 0 && penstock_graph_add_subtasks(graph_.get(), &columns) < 0 && !failure_)
      failure_ = last_failure();
    given_ += columns.count;
    templates_.clear();
    offsets_.assign(1, 0);
    predecessors_.clear();
    outputs_.clear();
    payload_offsets_.assign(1, 0);
    payloads_.clear();
    priorities_.clear();
    name_offsets_.clear();
    names_.clear();
  }

  std::unique_ptr<penstock_graph, Free> graph_;
  std::uint64_t number_ = next_number();
  std::optional<std::uint32_t> literal_;
  std::optional<std::uint32_t> alias_;
  std::optional<Failure> failure_;  ///< The first mistake; `submit` reports it.
  std::uint32_t given_ = 0;
  std::vector<std::uint32_t> templates_;
  std::vector<std::uint32_t> offsets_{0};
  std::vector<std::uint32_t> predecessors_;
  std::vector<std::uint16_t> outputs_;  ///< Of each edge.
  std::vector<std::uint64_t> payload_offsets_{0};
  std::string payloads_;
  std::vector<std::int32_t> priorities_;     ///< Up to the last subtask with a priority.
  std::vector<std::uint32_t> name_offsets_;  ///< Up to the last subtask with a name.
  std::string names_;
  std::vector<std::uint32_t> wanted_;
};

/// A result, read in place: without a copy when the cluster is inside this process, or its worker on this host and the
/// datum is large. Moved, never copied.
class Datum {
 public:
  std::span<const std::byte> bytes() const {
    const penstock_bytes& view = *penstock_data_views(data_.get());
    return {static_cast<const std::byte*>(view.data), static_cast<std::size_t>(view.size)};
  }

 private:
  friend class Job;
  struct Free {
    void operator()(penstock_data* data) const { penstock_data_free(data); }
  };
  explicit Datum(penstock_data* data) : data_(data) {}
  std::unique_ptr<penstock_data, Free> data_;
};

enum class JobState {
  Running = PENSTOCK_RUNNING,
  Succeeded = PENSTOCK_SUCCEEDED,
  Failed = PENSTOCK_FAILED,
  Cancelled = PENSTOCK_CANCELLED
};

/// A subtask that has failed for good.
struct SubtaskFailure {
  std::uint32_t subtask = 0;
  std::uint32_t failure_class = 0;  ///< As `penstock_failure`.
  std::int32_t exit_code = -1;      ///< -1: none.
  std::int32_t signal = 0;
  std::string name;
  std::string code;  ///< `LimitExceeded`: outputs larger than the worker's store, ...; empty: unknown.
  std::string message;
  std::string output_tail;
  std::string detail;                ///< From the runner for its engine.
  std::vector<std::string> history;  ///< One line for each attempt.
};

/// A submitted graph. Its results are kept until it is destroyed or released. A job that was attached to, or that
/// existed already under its name, belongs to its submitter: only `release` lets its results go. The client must
/// outlive the object.
class Job {
 public:
  Job(Job&& other) noexcept
      : client_(std::exchange(other.client_, nullptr)),
        number_(other.number_),
        ours_(other.ours_),
        graph_(other.graph_),
        identity_(other.identity_) {}
  Job& operator=(Job&& other) noexcept {
    if (this == &other) return *this;
    close();
    client_ = std::exchange(other.client_, nullptr);
    number_ = other.number_;
    ours_ = other.ours_;
    graph_ = other.graph_;
    identity_ = other.identity_;
    return *this;
  }
  ~Job() { close(); }

  std::int64_t number() const { return number_; }
  /// The identity of this job, which no other job ever has; its number may be given to another job after a restore.
  /// Both halves are 0 under a supervisor before 0.2.0.
  const penstock_identity& identity() const { return identity_; }
  /// False: another client has made it.
  bool ours() const { return ours_; }
  /// The state when the job has ended or the time is over; without a timeout: when it has ended. WrongState, as for all
  /// queries of the job, after it was released, detached from or moved from.
  Expected<JobState> wait(std::optional<std::chrono::nanoseconds> timeout = {}) const {
    if (client_ == nullptr) return left();
    const std::int32_t state = penstock_wait(client_, number_, timeout ? timeout->count() : -1);
    if (state < 0) return last_failure();
    return static_cast<JobState>(state);
  }
  Expected<JobState> poll() const { return wait(std::chrono::nanoseconds{0}); }
  /// The same for one subtask, independent of the rest.
  template <class T>
  Expected<JobState> wait(Handle<T> handle, std::optional<std::chrono::nanoseconds> timeout = {}) const {
    if (const std::optional<Failure> refused = check(handle)) return *refused;
    const std::int32_t state = penstock_wait_subtask(client_, number_, handle.subtask, timeout ? timeout->count() : -1);
    if (state < 0) return last_failure();
    return static_cast<JobState>(state);
  }
  /// All 0 after the job was released, detached from or moved from.
  penstock_counts counts() const {
    penstock_counts counts{};
    if (client_ != nullptr) penstock_job_counts(client_, number_, &counts);
    return counts;
  }
  /// Waits, and reports the progress each `every`.
  Expected<JobState> watch(std::chrono::nanoseconds every,
                           const std::function<void(const penstock_counts&)>& on_progress) const {
    if (on_progress == nullptr) return Failure{"InvalidArgument", "on_progress", "is empty", "`wait` tells nothing"};
    for (;;) {
      Expected<JobState> state = wait(every);
      on_progress(counts());
      if (!state || state.value() != JobState::Running) return state;
    }
  }
  Expected<bool> cancel() {
    if (client_ == nullptr) return left();
    if (penstock_cancel(client_, number_) < 0) return last_failure();
    return true;
  }
  /// Cancels one subtask and its successors.
  template <class T>
  Expected<bool> cancel(Handle<T> handle) {
    if (const std::optional<Failure> refused = check(handle)) return *refused;
    if (penstock_cancel_subtask(client_, number_, handle.subtask) < 0) return last_failure();
    return true;
  }
  /// Subtasks that have failed for good so far.
  Expected<std::vector<SubtaskFailure>> failures() const {
    if (client_ == nullptr) return left();
    std::vector<SubtaskFailure> all;
    const penstock_news* news = penstock_job_failures(client_, number_);
    for (std::uint32_t i = 0; news != nullptr && i < news->failure_count; ++i) {
      const penstock_failure& one = news->failures[i];
      all.push_back({one.subtask, one.failure_class, one.exit_code, one.signal, one.name,
                     penstock_failure_code(news, i), text_of(one.message),
                     text_of(one.output_tail), text_of(one.detail), {one.history, one.history + one.history_count}});
    }
    if (news != nullptr) penstock_news_free(news);
    return all;
  }

  /// The bytes of one result, as soon as it is there, whatever happens to the rest of the job.
  template <class T>
  Expected<Datum> datum(Handle<T> handle) const {
    const Expected<JobState> state = wait(handle);
    if (!state) return state.failure();
    if (state.value() != JobState::Succeeded) return why_none(handle.subtask, state.value());
    penstock_data* data = penstock_fetch(client_, number_, &handle.subtask, 1, handle.output);
    if (data == nullptr) return last_failure();
    // Waits for the end of the job when all subtasks have ended: destroying it after that releases its results.
    if (const penstock_counts now = counts(); now.succeeded + now.failed + now.cancelled >= now.total)
      static_cast<void>(wait());
    return Datum{data};
  }
  /// The same as a value.
  template <class T>
  Expected<T> result(Handle<T> handle) const {
    Expected<Datum> found = datum(handle);
    if (!found) return found.failure();
    const std::span<const std::byte> bytes = found->bytes();
    if constexpr (std::is_same_v<T, std::string>) {
      return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } else {
      static_assert(std::is_trivially_copyable_v<T>, "read the bytes of it with `datum`");
      T value{};
      if (bytes.size() != sizeof value)
        return Failure{
            "InvalidArgument", "result", "has " + std::to_string(bytes.size()) + " bytes, not those of its type", {}};
      std::memcpy(&value, bytes.data(), sizeof value);
      return value;
    }
  }
  /// The lines that runners have written for the job or for one subtask, each with its attempt.
  Expected<std::string> log() const { return log_of(-1); }
  template <class T>
  Expected<std::string> log(Handle<T> handle) const {
    if (const std::optional<Failure> refused = check(handle)) return *refused;
    return log_of(handle.subtask);
  }
  void release() {
    if (client_ != nullptr) penstock_release(std::exchange(client_, nullptr), number_);
  }
  /// Stops following the job; it goes on, and its results are kept as those of a job without followers.
  void detach() {
    if (client_ != nullptr) penstock_detach(std::exchange(client_, nullptr), number_);
  }

 private:
  friend class Client;
  friend class GraphBuilder;
  static constexpr std::uint32_t kInputLost = 5;  ///< Of `penstock_failure.failure_class`.

  static std::string text_of(const penstock_bytes& bytes) {
    return bytes.size == 0 ? std::string{} : std::string{static_cast<const char*>(bytes.data), bytes.size};
  }
  /// The failure of asking for the result of a subtask that ended without success.
  Failure why_none(std::uint32_t subtask, JobState state) const {
    const std::string subject = "subtask " + std::to_string(subtask) + " of job-" + std::to_string(number_);
    const Expected<std::vector<SubtaskFailure>> failed = failures();
    if (!failed) return failed.failure();
    for (const SubtaskFailure& one : failed.value())
      if (one.subtask == subtask)
        return {!one.code.empty()                 ? one.code
                : one.failure_class == kInputLost ? "InputLost"
                                                  : "UserError",
                one.name.empty() ? subject : one.name, "failed for good: " + one.message,
                "see the history of its attempts"};
    // The failure that has cancelled it is that of its job, which is about to end unless it continues.
    if (!failed.value().empty()) static_cast<void>(wait());
    if (penstock_job_error(client_, number_) < 0) return last_failure();
    const bool failed_itself = state == JobState::Failed;
    return {failed_itself ? "UserError" : "Cancelled", subject, failed_itself ? "has failed" : "was cancelled", {}};
  }
  Failure left() const {
    return {"WrongState", "job-" + std::to_string(number_), "was released, detached from or moved from", {}};
  }
  Expected<std::string> log_of(std::int64_t subtask) const {
    if (client_ == nullptr) return left();
    const Datum log{penstock_job_log(client_, number_, subtask)};
    if (log.data_ == nullptr) return last_failure();
    const std::span<const std::byte> bytes = log.bytes();
    return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class T>
  std::optional<Failure> check(Handle<T> handle) const {
    if (client_ == nullptr) return left();
    if (graph_ == 0 || handle.graph == 0 || graph_ == handle.graph) return {};
    return Failure{"InvalidArgument", "handle", "is one of another graph than that of job-" + std::to_string(number_), {}};
  }
  void close() { ours_ ? release() : detach(); }
  Job(penstock_client* client, std::int64_t number, bool ours, std::uint64_t graph)
      : client_(client), number_(number), ours_(ours), graph_(graph) {
    static_cast<void>(penstock_job_identity(client, number, &identity_));  // Otherwise it has none.
  }
  penstock_client* client_;
  std::int64_t number_;
  bool ours_;
  std::uint64_t graph_;  ///< Number of the graph of its handles; 0: it was submitted elsewhere.
  penstock_identity identity_{};
};

template <class T>
Handle<T> GraphBuilder::borrow(const Job& lender, Handle<T> lent) {
  if (!alias_) alias_ = add_template(PENSTOCK_NATIVE, "alias", {}, {});
  if (lender.graph_ != 0 && lent.graph != 0 && lender.graph_ != lent.graph)
    refuse("handle", "is one of another graph than that of the job it is borrowed from");
  const std::uint32_t numbers[] = {static_cast<std::uint32_t>(lender.number()), lent.subtask, lent.output};
  std::string payload;
  for (const std::uint32_t number : numbers)
    for (std::uint32_t shift = 0; shift < 32; shift += 8) payload += static_cast<char>(number >> shift & 0xffU);
  const penstock_identity& identity = lender.identity();
  if ((identity.high | identity.low) != 0)
    for (const std::uint64_t half : {identity.high, identity.low})
      for (std::uint32_t shift = 0; shift < 64; shift += 8) payload += static_cast<char>(half >> shift & 0xffU);
  return {add_one(*alias_, payload), number_};
}

enum class JobKind { Training = 0, Interactive = 1, Inference = 2 };

struct ClientOptions {
  std::string address;                 ///< `host:port`, several with commas; empty: a cluster inside this process.
  std::uint32_t slots = 0;             ///< Of a cluster inside this process; 0: one for each core.
  std::vector<std::string> operators;  ///< Its shared libraries of native operators.
  std::int64_t memory_bytes = 0;       ///< Of a cluster inside this process; 0: what the host has.
  std::string name;                    ///< For people; empty: that of the host.
  std::chrono::milliseconds connect_timeout{0};  ///< 0: 5 s.
};

struct JobOptions {
  std::string name;  ///< Submitting under the same name again returns the same job.
  std::string owner;
  std::int32_t priority = 0;
  std::string project;                   ///< Counts against the quota of this project, where the cluster has a policy.
  std::string account;                   ///< Charged with its use; empty: the owner's account.
  std::uint32_t weight_thousandths = 0;  ///< 0: the project's.
  std::uint32_t slots_max = 0;           ///< The job holds no more at once; 0: no such limit.
  std::uint32_t gang = 0;                ///< So many slots at once or none.
  std::string qos;  ///< Level of service: expedite, normal, standby, or one that the cluster defines.
  std::string queue;
  std::vector<std::string> pools;   ///< By preference: the next one if there is no room in the one before.
  std::vector<std::string> labels;  ///< Runs on workers with one of these.
  std::uint64_t grace_ms = 0;       ///< Time to save state after a preemption; 0: the cluster's.
  JobKind kind = JobKind::Training;
  std::optional<bool> preemptible;  ///< Whether slots may be taken back from it; none: its kind decides.
  std::uint32_t user_factor_lowered_thousandths = 0;  ///< 0 leaves it at 1, 1000 makes it 0.
  bool keep_nothing = false;                          ///< Its outputs are not kept for the client.
  bool wait_for_resources = false;                    ///< Accept requests that no present worker can hold.
};

/// A connection to a cluster, or a cluster of its own. Any thread may use it.
class Client {
 public:
  static Expected<Client> open(const ClientOptions& options = {}) {
    const std::vector<const char*> operators = pointers(options.operators);
    penstock_client_options wanted{};
    wanted.size = sizeof wanted;
    wanted.address = options.address.empty() ? nullptr : options.address.c_str();
    wanted.name = options.name.empty() ? nullptr : options.name.c_str();
    wanted.connect_timeout_ms = static_cast<std::uint32_t>(options.connect_timeout.count());
    wanted.slots = options.slots;
    wanted.memory_bytes = options.memory_bytes;
    wanted.operators = operators.data();
    wanted.operator_count = static_cast<std::uint32_t>(operators.size());
    penstock_client* client = penstock_client_open(&wanted);
    if (client == nullptr) return last_failure();
    return Client{client};
  }

  Expected<Job> submit(GraphBuilder&& graph, const JobOptions& options = {}) {
    if (graph.graph_ == nullptr) return Failure{"WrongState", "graph", "was submitted already, or moved from", {}};
    graph.give();
    if (graph.failure_) return *graph.failure_;
    if (!graph.wanted_.empty()) penstock_graph_want(graph.graph_.get(), graph.wanted_.data(), graph.wanted_.size());
    penstock_job_options wanted{};
    wanted.size = sizeof wanted;
    wanted.name = options.name.c_str();
    wanted.owner = options.owner.c_str();
    wanted.priority = options.priority;
    wanted.project = options.project.c_str();
    wanted.account = options.account.c_str();
    wanted.weight_thousandths = options.weight_thousandths;
    wanted.slots_max = options.slots_max;
    wanted.gang = options.gang;
    wanted.qos = options.qos.c_str();
    wanted.queue = options.queue.c_str();
    const std::vector<const char*> pools = pointers(options.pools);
    const std::vector<const char*> labels = pointers(options.labels);
    wanted.pools = pools.data();
    wanted.pool_count = static_cast<std::uint32_t>(pools.size());
    wanted.labels = labels.data();
    wanted.label_count = static_cast<std::uint32_t>(labels.size());
    wanted.grace_ms = options.grace_ms;
    wanted.kind = static_cast<std::uint32_t>(options.kind);
    wanted.preemptible = !options.preemptible ? 0 : *options.preemptible ? 1 : 2;
    wanted.user_factor_lowered_thousandths = options.user_factor_lowered_thousandths;
    wanted.keep_nothing = options.keep_nothing ? 1 : 0;
    wanted.wait_for_resources = options.wait_for_resources ? 1 : 0;
    penstock_submitted submitted{};
    submitted.size = sizeof submitted;
    const std::int64_t job = penstock_submit_told(client_.get(), graph.graph_.release(), &wanted, &submitted);
    if (job < 0) return last_failure();
    return Job{client_.get(), job, submitted.ours != 0, submitted.ours != 0 ? graph.number_ : 0};
  }
  /// Follows a job by its name or number, whichever client has submitted it.
  Expected<Job> attach(const std::string& name) {
    const std::int64_t job = penstock_attach(client_.get(), name.c_str());
    if (job < 0) return last_failure();
    return Job{client_.get(), job, false, 0};
  }
  /// Slots of a cluster inside this process; otherwise 0.
  std::uint32_t slots() const { return penstock_client_slots(client_.get()); }
  /// Makes waiting calls in other threads fail with Cancelled, and later calls, too: for use before destroying the
  /// client.
  void interrupt() { penstock_client_interrupt(client_.get()); }
  /// For functions of penstock.h that this class lacks; the client stays the owner.
  penstock_client* native() const { return client_.get(); }

 private:
  struct Close {
    void operator()(penstock_client* client) const { penstock_client_close(client); }
  };
  explicit Client(penstock_client* client) : client_(client) {}
  static std::vector<const char*> pointers(const std::vector<std::string>& texts) {
    std::vector<const char*> all;
    for (const std::string& text : texts) all.push_back(text.c_str());
    return all;
  }
  std::unique_ptr<penstock_client, Close> client_;
};

}  // namespace penstock::engine
