// Operations and handles: the words in which a graph is written. Part of client.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock.h"  // tidy: allow arrows: engines have these headers without the root

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
  std::string name;               ///< For people; empty: the program.
  std::string payload;            ///< The same for all subtasks.
  std::uint32_t milli_slots = 0;  ///< 0: 1000, or `milli_gpu` where there is any.
  std::int64_t memory_bytes = 0;
  /// An attempt that used more is repeated with twice as much, up to this; 0: with the same.
  std::int64_t memory_bytes_max = 0;
  std::uint32_t milli_gpu = 0;  ///< 1000 is a whole GPU; more only in whole ones.
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
  bool not_retryable = false;   ///< Never run a second time once it may have started.
  bool never_overlaps = false;  ///< A worker that is cut off kills its run before another begins; not of native ones.
  std::chrono::nanoseconds expected{0};  ///< Duration of one subtask; 0: as measured.
};

/// Options of one subtask.
struct SubtaskOptions {
  std::string_view payload;
  std::int32_t priority = 0;  ///< Added to that of its operation.
  std::string_view name;      ///< For people; unique. Empty: its number.
};

}  // namespace penstock::engine
