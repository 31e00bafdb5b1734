// How long RocksDB's list of files was when it was seen last.
#pragma once

#include <rocksdb/listener.h>

#include <mutex>
#include <string>

#include "common/base/result.hpp"

namespace penstock {

/// A list of files (MANIFEST) that was changed, or cut within an entry, RocksDB notices by itself. One that was cut between
/// two entries is a shorter list and as good as any: at the next start the sorted files that it does not name any more, and
/// whose logs are gone, would be deleted without a word (fault F13). So a file beside it, `MANIFEST.LENGTH`, tells how long
/// it was; it is written anew behind each file that was listed, and at the end. It may be behind the list by what was
/// listed in the instant of a kill, and is never ahead of it.
///
/// Callbacks come from threads of the database.
class ListLength final : public rocksdb::EventListener {
 public:
  explicit ListLength(std::string directory) : directory_(std::move(directory)) {}

  /// Before the database is opened. Error: StorageDamaged, if the list in force is shorter than it was, or cannot be read up
  /// to there: RocksDB takes zeros for the end of a page. No news, or news of another list, are none.
  static Result<void> check(const std::string& directory);

  /// Writes down how long it is now. A disk that does not take it has the older news.
  void note();

  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { note(); }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { note(); }

 private:
  const std::string directory_;
  std::mutex mutex_;  ///< Of the file: one writes it at a time.
};

}  // namespace penstock
