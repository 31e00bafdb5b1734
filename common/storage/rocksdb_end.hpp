// The provable end of a RocksDB directory.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/storage/anchor_file.hpp"
#include "common/storage/rocksdb_storage.hpp"

namespace penstock {

/// The entry in which each commit writes its number and chain. Greater than any key of ours.
inline constexpr std::string_view kEndKey = "~end";

struct CommitNumber {
  std::uint64_t number = 0;
  std::uint64_t chain = 0;
};
/// The content of the entry; none: the entry is missing, or of an unknown version.
std::optional<CommitNumber> end_of(rocksdb::DB& database);
std::optional<CommitNumber> decode_end(std::string_view value);
std::string encode_end(const CommitNumber& end);

/// Numbers commits and keeps the anchor (`anchor_file.hpp`), so that a database is always noticed that is shorter than
/// promised.
///
/// The anchor is on the disk before `write` returns. A commit that is small enough is in the anchor itself, which is
/// then written at the same time as the log: if only one of both reaches the disk, the commit does. A larger commit is
/// in the log before the anchor records it.
class ProvenEnd {
 public:
  /// Compares the database with its anchor, before anything is changed. Error: StorageDamaged, if the database is
  /// shorter than promised, if it is another one, or if the anchor is lost.
  static Result<void> compare(const std::string& directory, const std::optional<CommitNumber>& end,
                              const AnchorFile::Found& found);
  /// Compares, copies a last commit that only the anchor has into the database, and makes a missing anchor.
  static Result<std::unique_ptr<ProvenEnd>> open(rocksdb::DB& database, const RocksdbOptions& options,
                                                 StorageFindings& findings);

  /// Numbers the commit in `changes` and writes it. The returned status is the database's; `second` is the anchor's.
  rocksdb::Status write(rocksdb::DB& database, rocksdb::WriteBatch& changes, const StorageBatch& batch, Sync sync,
                        Result<void>& second);
  /// Called when the database was opened again, or continues after an error.
  void look_again(rocksdb::DB& database);

 private:
  explicit ProvenEnd(std::unique_ptr<AnchorFile> file) : file_(std::move(file)) {}

  std::unique_ptr<AnchorFile> file_;
  Anchor anchor_;           ///< As last written, without the batch.
  CommitNumber end_;        ///< Of the last commit in the database.
  bool has_unsynced_ = false;  ///< The last commit was not synced.
};

}  // namespace penstock
