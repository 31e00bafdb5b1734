// Graphs with typed handles. Part of client.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "expected.hpp"   // tidy: allow arrows: engines have these headers without the root
#include "operation.hpp"  // tidy: allow arrows: engines have these headers without the root
#include "penstock.h"     // tidy: allow arrows: engines have these headers without the root

namespace penstock::engine {

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
  std::uint32_t size() const { return given_ + static_cast<std::uint32_t>(chunk_.templates.size()); }

 private:
  friend class Client;
  static constexpr std::size_t kChunk = 1 << 16;
  struct Free {
    void operator()(penstock_graph* graph) const { penstock_graph_free(graph); }
  };
  /// As `penstock_subtasks`; columns without use stay empty.
  struct Columns {
    std::vector<std::uint32_t> templates;
    std::vector<std::uint32_t> offsets{0};
    std::vector<std::uint32_t> predecessors;
    std::vector<std::uint16_t> outputs;  ///< Of each edge.
    std::vector<std::uint64_t> payload_offsets{0};
    std::string payloads;
    std::vector<std::int32_t> priorities;     ///< Up to the last subtask with a priority.
    std::vector<std::uint32_t> name_offsets;  ///< Up to the last subtask with a name.
    std::string names;
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
    chunk_.predecessors.push_back(input.subtask);
    chunk_.outputs.push_back(input.output);
  }
  /// Adds a subtask with the edges that were added since the last one.
  std::uint32_t add_one(std::uint32_t operation, std::string_view payload) {
    return add_one(operation, SubtaskOptions{payload, 0, {}});
  }
  std::uint32_t add_one(std::uint32_t operation, const SubtaskOptions& options) {
    const std::uint32_t number = size();
    // Unused columns stay empty.
    if (options.priority != 0) {
      chunk_.priorities.resize(chunk_.templates.size(), 0);
      chunk_.priorities.push_back(options.priority);
    }
    if (!options.name.empty()) {
      chunk_.name_offsets.resize(chunk_.templates.size() + 1, static_cast<std::uint32_t>(chunk_.names.size()));
      chunk_.names += options.name;
      chunk_.name_offsets.push_back(static_cast<std::uint32_t>(chunk_.names.size()));
    }
    chunk_.templates.push_back(operation);
    chunk_.offsets.push_back(static_cast<std::uint32_t>(chunk_.predecessors.size()));
    chunk_.payloads += options.payload;
    chunk_.payload_offsets.push_back(chunk_.payloads.size());
    if (chunk_.templates.size() == kChunk) give();
    return number;
  }

  void give() {
    penstock_subtasks columns{};
    columns.size = sizeof columns;
    columns.count = static_cast<std::uint32_t>(chunk_.templates.size());
    columns.templates = chunk_.templates.data();
    columns.input_offsets = chunk_.offsets.data();
    columns.predecessors = chunk_.predecessors.data();
    columns.outputs = chunk_.outputs.data();
    columns.payload_offsets = chunk_.payload_offsets.data();
    columns.payloads = chunk_.payloads.data();
    if (!chunk_.priorities.empty()) {
      chunk_.priorities.resize(chunk_.templates.size(), 0);
      columns.priorities = chunk_.priorities.data();
    }
    if (!chunk_.name_offsets.empty()) {
      chunk_.name_offsets.resize(chunk_.templates.size() + 1, static_cast<std::uint32_t>(chunk_.names.size()));
      columns.name_offsets = chunk_.name_offsets.data();
      columns.names = chunk_.names.data();
      columns.name_bytes = static_cast<std::uint32_t>(chunk_.names.size());
    }
    if (columns.count > 0 && penstock_graph_add_subtasks(graph_.get(), &columns) < 0 && !failure_)
      failure_ = last_failure();
    given_ += columns.count;
    chunk_.templates.clear();
    chunk_.offsets.assign(1, 0);
    chunk_.predecessors.clear();
    chunk_.outputs.clear();
    chunk_.payload_offsets.assign(1, 0);
    chunk_.payloads.clear();
    chunk_.priorities.clear();
    chunk_.name_offsets.clear();
    chunk_.names.clear();
  }

  std::unique_ptr<penstock_graph, Free> graph_;
  std::uint64_t number_ = next_number();
  std::optional<std::uint32_t> literal_;
  std::optional<std::uint32_t> alias_;
  std::optional<Failure> failure_;  ///< The first mistake; `submit` reports it.
  std::uint32_t given_ = 0;
  Columns chunk_;  ///< Subtasks that the library does not have yet.
  std::vector<std::uint32_t> wanted_;
};

}  // namespace penstock::engine
