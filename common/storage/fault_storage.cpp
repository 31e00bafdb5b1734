#include "common/storage/fault_storage.hpp"

namespace penstock {

Result<std::optional<std::string>> FaultStorage::get(std::string_view key) {
  if (error_.has_value()) return *error_;
  return present_.get(key);
}

Result<void> FaultStorage::scan(std::string_view prefix, const ScanVisit& visit) {
  if (error_.has_value()) return *error_;
  return present_.scan(prefix, visit);
}

Result<void> FaultStorage::commit(const StorageBatch& batch, Sync sync) {
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

void FaultStorage::crash() {
  unsynced_.clear();
  present_ = durable_;
}

}  // namespace penstock
