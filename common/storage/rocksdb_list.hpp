// Records the length of RocksDB's list of files.
#pragma once

#include <rocksdb/listener.h>

#include <mutex>
#include <string>

#include "common/base/result.hpp"

namespace penstock {

/// RocksDB notices a list of files (MANIFEST) that was changed, or cut within an entry. A list cut between two entries
/// is shorter but valid: the next start would silently delete sorted files that it does not name any more and that no
/// log covers (fault F13). So a file beside it, `MANIFEST.LENGTH`, records its length; the file is written after each
/// change of the list, and at the end. The record may lack the entries of the instant of a kill, and is never ahead of
/// the list.
///
/// Threads of the database make the calls.
class ListLength final : public rocksdb::EventListener {
 public:
  explicit ListLength(std::string directory) : directory_(std::move(directory)) {}

  /// Called before the database is opened. Error: StorageDamaged, if the list in force is shorter than recorded, or
  /// unreadable up to that length: RocksDB takes zeros for the end of a page. No record, or one of another list, is no
  /// error.
  static Result<void> check(const std::string& directory);

  /// Records the present length. If the disk refuses, the older record stays.
  void note();

  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { note(); }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override { note(); }

 private:
  const std::string directory_;
  std::mutex mutex_;  ///< Of the file: one thread writes at a time.
};

}  // namespace penstock
