// A storage that lasts as long as its object.
#pragma once

#include <map>

#include "common/storage/storage.hpp"

namespace penstock {

/// A map in memory. Nothing survives, so syncing is free. Never fails.
class MemoryStorage : public Storage {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> scan(std::string_view prefix, const ScanVisit& visit) override;
  Result<void> commit(const StorageBatch& batch, Sync sync) override;
  Result<void> close() override { return {}; }

  /// For tests that damage the stored entries.
  std::map<std::string, std::string, std::less<>>& entries() { return entries_; }

 private:
  std::map<std::string, std::string, std::less<>> entries_;
};

}  // namespace penstock
