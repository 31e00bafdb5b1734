// A storage in a directory, on RocksDB.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/storage/anchor_file.hpp"
#include "common/storage/storage.hpp"

namespace penstock {

struct RocksdbOptions {
  std::string directory;                              ///< Made if it is not there.
  std::string owner;                                  ///< Our host and process, for the message to a second opener.
  /// Of writes before they are merged, a fourth of that; see `young_bytes`.
  std::size_t memory_bytes = std::size_t{64} << 20U;
  /// Bytes of writes that share a sorted file until the file is merged: the cost of losing a young file. At most
  /// `memory_bytes`.
  std::size_t young_bytes = std::size_t{8} << 20U;
  /// Keys that differ in these first bytes share no block, so a flipped bit costs entries of one prefix at most.
  std::size_t apart_bytes = 0;
  /// At most so many prefixes that differ in their last byte only share a file after merging, so a lost file costs no
  /// more. 0: as many as fit. REQUIRES: it divides 256.
  unsigned apart_in_files = 0;
  /// The end can be proved (`rocksdb_end.hpp`): a storage that is shorter than promised is refused.
  bool provable = false;
  /// Keys of a few small entries with newest values that survive the loss of the log. REQUIRES: `provable`.
  std::vector<std::string> doubled{};
  /// Another path by which the files are accessed. Removing that path keeps a former holder that still runs from
  /// making, renaming and removing files. Empty: the directory itself.
  std::string reached_by{};
};

/// Observations at the end of a storage that was opened. None of them is an error.
struct StorageFindings {
  std::uint64_t last = 0;           ///< Number of the last commit; 0: commits have no numbers yet.
  std::uint64_t beyond_anchor = 0;  ///< Number of last commits that are there without a promise.
  bool torn = false;                ///< A commit without a promise was cut off.
  bool mended = false;              ///< The last commit was torn, and taken from the anchor.
  bool rewritten = false;           ///< The storage was salvaged or restored, and has not been used since.
  std::optional<SalvageLoss> untold{};  ///< The same for a salvage: its losses may not have been reported.
};

/// The result of reading a damaged directory. Unreported losses of an earlier salvage count, too.
struct SalvageOutcome : SalvageLoss {
  std::uint64_t entries_kept = 0;
  std::string damaged_directory{};  ///< Where the damaged original is now; Penstock never deletes it.
};

/// Every block and every write-ahead record has a checksum; blocks are compressed with LZ4. A write-ahead log with a
/// torn last record, the usual result of a power cut, is read up to that record; any other damage is an error.
class RocksdbStorage {
 public:
  /// Errors: StorageLocked (names the holder), StorageDamaged, StorageFull, InvalidArgument (no such directory can be
  /// made).
  static Result<std::unique_ptr<Storage>> open(const RocksdbOptions& options, StorageFindings* findings = nullptr);
  /// Copies the readable entries of a damaged directory into a fresh one and puts that in its place, in one step; the
  /// damaged directory is kept beside it. Never fails because of damage: in the worst case nothing is kept. Errors:
  /// StorageLocked, StorageFull.
  static Result<SalvageOutcome> salvage(const RocksdbOptions& options);
};

}  // namespace penstock
