#include "worker/store/spill_files.hpp"

#include <unistd.h>

#include "worker/store/datum_file.hpp"

namespace penstock::worker {

SpillFiles::SpillFiles(SpillOptions options)
    : options_(std::move(options)), directory_(options_.place, "penstock-spill-") {}

Result<void> SpillFiles::prepare() {
  const std::lock_guard lock{mutex_};
  const Result<std::string> directory = directory_.path();
  if (!directory) return directory.error();
  return {};
}

Result<std::string> SpillFiles::path_of(const DataKey& key) {
  const std::lock_guard lock{mutex_};
  Result<std::string> directory = directory_.path();
  if (!directory) return directory;
  return *directory + "/" + std::to_string(key.producer.job.value()) + "-" +
         std::to_string(key.producer.index.value()) + "-" + std::to_string(key.output);
}

void SpillFiles::note(const DataKey& key, std::int64_t bytes) {
  const std::lock_guard lock{mutex_};
  std::int64_t& stored = stored_[key];
  used_ += bytes - stored;
  stored = bytes;
}

Result<void> SpillFiles::write(const DataKey& key, std::span<const std::byte> bytes) {
  if (used() + Bytes{static_cast<std::int64_t>(bytes.size())} > options_.bytes_max)
    return Error{ErrorCode::StorageFull, to_string(key), "would exceed worker.spill_bytes_max on disk",
                 "raise it, or add workers"};
  Result<std::string> path = path_of(key);
  if (!path) return std::move(path).error();
  const Result<std::int64_t> written = write_datum_file(*path, key, bytes, Durably::No);
  if (!written) return written.error();
  note(key, *written);
  return {};
}

Result<void> SpillFiles::read(const DataKey& key, const std::function<std::byte*(std::size_t)>& room_for) {
  if (!has(key)) return Error{ErrorCode::NotFound, to_string(key), "is not on disk", {}};
  Result<std::string> path = path_of(key);
  if (!path) return std::move(path).error();
  Result<void> result = read_datum_file(*path, key, room_for);
  if (!result && result.error().code == ErrorCode::StorageDamaged) drop(key);
  return result;
}

void SpillFiles::drop(const DataKey& key) {
  {
    const std::lock_guard lock{mutex_};
    const auto found = stored_.find(key);
    if (found == stored_.end()) return;
    used_ -= found->second;
    stored_.erase(found);
  }
  if (const Result<std::string> path = path_of(key)) ::unlink(path->c_str());
}

void SpillFiles::clear() {
  for (;;) {
    DataKey key;
    {
      const std::lock_guard lock{mutex_};
      if (stored_.empty()) return;
      key = stored_.begin()->first;
    }
    drop(key);
  }
}

bool SpillFiles::has(const DataKey& key) const {
  const std::lock_guard lock{mutex_};
  return stored_.contains(key);
}

Bytes SpillFiles::used() const {
  const std::lock_guard lock{mutex_};
  return Bytes{used_};
}

}  // namespace penstock::worker
