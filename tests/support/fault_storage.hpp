// A disk that can crash and fail, for tests and the simulator.
#pragma once

#include <optional>

#include "tests/support/memory_storage.hpp"

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

inline Result<std::optional<std::string>> FaultStorage::get(std::string_view key) {
  if (error_.has_value()) return *error_;
  return present_.get(key);
}

inline Result<void> FaultStorage::scan(std::string_view prefix, const ScanVisit& visit) {
  if (error_.has_value()) return *error_;
  return present_.scan(prefix, visit);
}

inline Result<void> FaultStorage::commit(const StorageBatch& batch, Sync sync) {
  if (error_.has_value()) return *error_;
  PENSTOCK_TRY(present_.commit(batch, sync));
  if (sync == Sync::No) {
    unsynced_.push_back(batch);
    return {};
  }
  ++syncs_;
  for (const StorageBatch& earlier : unsynced_) PENSTOCK_TRY(durable_.commit(earlier, sync));
  unsynced_.clear();
  return durable_.commit(batch, sync);
}

inline void FaultStorage::crash() {
  unsynced_.clear();
  present_ = durable_;
}

}  // namespace penstock
