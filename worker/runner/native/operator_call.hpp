// The call that a native operator sees, and what its lane keeps behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/include/penstock/operator.h"
#include "common/base/result.hpp"
#include "worker/runner/native/device_run.hpp"
#include "worker/runner/native/native_lanes.hpp"
#include "worker/runner/process/slot_loan.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// The call that an operator sees, and behind it what only the lane uses. A lane has one call for all its runs, because
/// making one takes as long as the shortest runs.
struct OperatorCall : penstock_call {
  // Of the lane.
  const ObjectStore* store = nullptr;
  const std::atomic<std::uint64_t>* cancelled_ticket = nullptr;
  const std::atomic<bool>* ending = nullptr;
  const NativeRun* run = nullptr;  ///< Each of the lane's runs is copied here in turn.
  // Of one run.
  DeviceRun* on_device = nullptr;
  std::vector<std::pair<std::uint16_t, std::shared_ptr<Blob>>> made;
  std::mutex naming;         ///< Guards the next: threads of an operator may ask for it at once.
  std::string attempt_text;  ///< Empty until asked for.
  std::string failure;
  bool exhausted = false;                   ///< The last request for memory found no room on the device, for now.
  std::atomic<bool> knows_of_stop = false;  ///< The operator was told that it is to stop: its result may be any.
  // Of the lane, and last: short runs do not touch it.
  SlotLoan* loan = nullptr;
  std::thread::id thread;  ///< On which operators are called.

  std::uint16_t output_count() const { return run->program->output_count; }

  /// 0, with the reason.
  std::uint64_t refuse(const Error& error) {
    failure = to_string(error);
    exhausted = error.code == ErrorCode::ResourceExhausted;
    return 0;
  }
};

/// Sets the functions by which an operator asks its lane. REQUIRES before a run: the members of the lane are set.
void set_functions(OperatorCall& call);

}  // namespace penstock::worker
