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

inline Result<std::optional<std::string>> MemoryStorage::get(std::string_view key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::optional<std::string>{};
  return std::optional<std::string>{found->second};
}

inline Result<void> MemoryStorage::scan(std::string_view prefix, const ScanVisit& visit) {
  for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at)
    if (!visit(at->first, at->second)) break;
  return {};
}

inline Result<void> MemoryStorage::commit(const StorageBatch& batch, Sync) {
  for (const StorageBatch::Change& change : batch.changes) {
    switch (change.kind) {
      case StorageBatch::Kind::Put: entries_.insert_or_assign(change.key, change.value); break;
      case StorageBatch::Kind::Erase: entries_.erase(change.key); break;
      case StorageBatch::Kind::ErasePrefix: {
        const std::optional<std::string> end = end_of_prefix(change.key);
        entries_.erase(entries_.lower_bound(change.key), end ? entries_.lower_bound(*end) : entries_.end());
        break;
      }
    }
  }
  return {};
}

}  // namespace penstock
