// The end of a RocksDB directory that can be proved.
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

/// The entry in which each commit writes down its number and chain. Greater than any key of ours.
inline constexpr std::string_view kEndKey = "~end";

struct CommitNumber {
  std::uint64_t number = 0;
  std::uint64_t chain = 0;
};
/// The content of the entry; none: the entry is missing, or of an unknown version.
std::optional<CommitNumber> end_of(rocksdb::DB& database);
std::optional<CommitNumber> decode_end(std::string_view value);
std::string encode_end(const CommitNumber& end);

/// Numbers commits and keeps the anchor (`anchor_file.hpp`), so that a database that is shorter than what was promised is
/// always noticed.
///
/// The anchor is on the disk before `write` returns. A commit that is small enough is in the anchor itself, which then is
/// written at the same time as the log: should only one of both be on the disk, the commit is. A larger one is in the log
/// before the anchor tells of it.
class ProvenEnd {
 public:
  /// What a comparison of the database with its anchor says, before anything is changed. Error: StorageDamaged, if the
  /// database is shorter than was promised, if it is another one, or if nobody knows because the anchor is lost.
  static Result<void> compare(const std::string& directory, const std::optional<CommitNumber>& end,
                              const AnchorFile::Found& found);
  /// Compares, puts a last commit that only the anchor has into the database, and makes the anchor where there is none.
  static Result<std::unique_ptr<ProvenEnd>> open(rocksdb::DB& database, const RocksdbOptions& options,
                                                 StorageFindings& findings);

  /// Numbers what is in `changes`, and writes it. The first error is that of the database; then `second` tells of the anchor.
  rocksdb::Status write(rocksdb::DB& database, rocksdb::WriteBatch& changes, const StorageBatch& batch, Sync sync,
                        Result<void>& second);
  /// The database was opened anew, or goes on after an error.
  void look_again(rocksdb::DB& database);

 private:
  explicit ProvenEnd(std::unique_ptr<AnchorFile> file) : file_(std::move(file)) {}

  std::unique_ptr<AnchorFile> file_;
  Anchor anchor_;           ///< As it was written last, without the batch.
  CommitNumber end_;        ///< Of the last commit in the database.
  bool has_unsynced_ = false;  ///< A commit that was not synced is before the next one.
};

}  // namespace penstock
