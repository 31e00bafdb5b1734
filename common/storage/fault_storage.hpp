// A disk that can crash and fail, for tests and the simulator.
#pragma once

#include <optional>

#include "common/storage/memory_storage.hpp"

namespace penstock {

/// A commit without sync is there until `crash` and then lost, as after a power cut. The object outlives the storage's
/// users: the next incarnation of a simulated process opens the same object.
class FaultStorage : public Storage {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> scan(std::string_view prefix, const ScanVisit& visit) override;
  Result<void> commit(const StorageBatch& batch, Sync sync) override;
  Result<void> close() override { return {}; }

  /// The process or its host dies: unsynced commits are lost.
  void crash();
  /// Every call fails with this error from now on, and changes nothing; none: calls succeed again.
  void fail_with(std::optional<Error> error) { error_ = std::move(error); }
  /// The content after a crash; for tests that damage it. REQUIRES: `crash` is called after a change.
  MemoryStorage& durable() { return durable_; }
  std::uint64_t syncs() const { return syncs_; }

 private:
  MemoryStorage present_;
  MemoryStorage durable_;
  std::vector<StorageBatch> unsynced_;
  std::optional<Error> error_;
  std::uint64_t syncs_ = 0;
};

}  // namespace penstock
