// A storage in a directory, kept by RocksDB.
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
  std::string owner;                                  ///< Who we are, for whom we keep out: host and process.
  std::size_t memory_bytes = std::size_t{64} << 20U;  ///< Of writes before they are merged, a fourth of that; see `young_bytes`.
  /// Of writes that share a sorted file until that is merged with others: what the loss of a young file costs. At most
  /// `memory_bytes`.
  std::size_t young_bytes = std::size_t{8} << 20U;
  /// Entries whose keys differ in these first bytes share no block: a flipped bit costs those of one prefix at most.
  std::size_t apart_bytes = 0;
  /// Of those prefixes that differ in their last byte only, so many at most share a file once files are merged: a lost
  /// file costs no more. 0: as many as fit. REQUIRES: it divides 256.
  unsigned apart_in_files = 0;
  /// The end can be proved (`rocksdb_end.hpp`): a storage that is shorter than what was promised is refused.
  bool provable = false;
  /// Keys of a few small entries whose newest values outlive the loss of the log. REQUIRES: `provable`.
  std::vector<std::string> doubled{};
  /// Another name of the directory, under which its files are reached. Whoever takes that name away keeps a holder that
  /// still lives from making, renaming and removing files. Empty: the directory itself.
  std::string reached_by{};
};

/// What was noticed at the end of a storage that was opened. All of it is in order.
struct StorageFindings {
  std::uint64_t last = 0;           ///< Number of the last commit; 0: commits have no numbers yet.
  std::uint64_t beyond_anchor = 0;  ///< Last commits that nobody was told of, and that are there.
  bool torn = false;                ///< A commit that nobody was told of was cut off.
  bool mended = false;              ///< The last commit was torn, and taken from the anchor.
  bool rewritten = false;           ///< It was salvaged or restored, and nobody has begun to use it since.
  std::optional<SalvageLoss> untold{};  ///< The same of a salvage: nobody may have been told what is missing.
};

/// What reading a damaged directory has brought. The losses of a salvage before it that nobody was told of count, too.
struct SalvageOutcome : SalvageLoss {
  std::uint64_t entries_kept = 0;
  std::string damaged_directory{};  ///< Where the damaged original is now; it is never deleted by us.
};

/// Every block and every write-ahead record has a checksum; blocks are compressed with LZ4. A write-ahead log whose
/// last record is torn, as a power cut leaves it, is read up to there; any other damage is an error.
class RocksdbStorage {
 public:
  /// Errors: StorageLocked (names the holder), StorageDamaged, StorageFull, InvalidArgument (no such directory can be
  /// made).
  static Result<std::unique_ptr<Storage>> open(const RocksdbOptions& options, StorageFindings* findings = nullptr);
  /// Reads what can be read of a damaged directory into a fresh one and puts that in its place, in one step; the damaged
  /// one is kept beside it. Never fails because of damage: in the worst case nothing is kept. Errors: StorageLocked,
  /// StorageFull.
  static Result<SalvageOutcome> salvage(const RocksdbOptions& options);
};

}  // namespace penstock
