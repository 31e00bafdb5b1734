// Threads that run native operators: one for each lane of a band.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/include/penstock/operator.h"
#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/protocol/failure.hpp"
#include "common/protocol/report.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// One run of an operator. What it points to stays until the run's end has been told.
struct NativeRun {
  std::uint64_t ticket = 0;              ///< Given back with the end.
  SubtaskId id;
  Attempt attempt;
  penstock_operator_function function = nullptr;
  std::uint32_t milli_slots = 1000;
  std::uint64_t memory_bytes = 0;
  std::uint16_t output_count = 1;
  std::string_view template_payload;
  std::string_view payload;
};

/// How it ended. Outputs are in the store already.
struct NativeEnd {
  std::uint64_t ticket = 0;
  Attempt attempt;
  bool succeeded = true;
  std::uint32_t run_us = 0;
  std::vector<OutputReport> outputs;
  std::unique_ptr<FailureDetail> failure;
};

struct NativeLanesConfig {
  std::string device;                    ///< UUID of the band's GPU, or empty.
  std::vector<int> processors;           ///< To which its threads are bound; empty: all.
  Duration spin = std::chrono::microseconds{10};  ///< How long a lane looks for its next run before it sleeps.
};

/// The runners of one band's native operators. A lane's thread starts with its first run. After a run the thread tells
/// the end, and often finds its next run waiting when that call returns: no other thread had to wake up.
/// An operator that uses TBB finds itself in an arena of as many threads as the subtask has slots, bound to the band's
/// processors: it is confined to its own slots, which is stricter than to those of the band.
class NativeLanes {
 public:
  /// Called on the lane's thread when a run has ended.
  using OnEnd = std::function<void(NativeEnd&&)>;

  NativeLanes(ObjectStore& store, NativeLanesConfig config, OnEnd on_end);
  /// Cancels what runs and waits for it.
  ~NativeLanes();
  NativeLanes(const NativeLanes&) = delete;
  NativeLanes& operator=(const NativeLanes&) = delete;

  /// From any thread. `inputs` are the run's in order; a key without a job is an empty one.
  /// REQUIRES: the lane has no run that has not ended.
  void start(SlotIndex lane, const NativeRun& run, std::vector<DataKey> inputs);
  /// Asks the run of a lane to stop; ignored if it is another run by now.
  void cancel(SlotIndex lane, std::uint64_t ticket);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
