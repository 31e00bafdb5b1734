// A file that records how far a storage reaches, apart from the storage.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/base/result.hpp"

namespace penstock {

/// The losses of a salvage, which the next user of the storage reports first.
struct SalvageLoss {
  std::uint64_t gaps = 0;          ///< Places where at least one entry could not be read.
  std::uint64_t commits_lost = 0;  ///< So many of the last promised commits are missing.
  bool end_unknown = false;        ///< The anchor is lost, too, so it is unknown whether the last commits are there.
};

/// Every commit has a number, one more than the one before, and a chain: the hash of its bytes and of the chain before.
/// A commit is promised once its success may have been reported.
struct Anchor {
  std::uint64_t number = 0;  ///< Of the newest commit that may be promised; 0: none.
  std::uint64_t chain = 0;
  bool rewritten = false;  ///< The storage was salvaged or restored, and has not been used since.
  std::map<std::string, std::string, std::less<>> doubled;  ///< Entries with their newest values, kept here, too.
  std::optional<SalvageLoss> untold{};                      ///< Of a salvaged storage that has not been used since.
  /// The commit itself, as the storage writes it; empty: it was on the disk before this was written.
  std::string batch;
};

/// The file `ANCHOR` in the directory of a storage. The file has two slots, each with a checksum and a revision; a
/// write goes to the older slot, so a torn write leaves the other one intact. The file never grows, so a full disk does
/// not prevent a write. `schema/journal.capnp` describes its format.
///
/// Owned by one thread; a further thread writes between `begin_write` and `finish_write`.
class AnchorFile {
 public:
  struct Found {
    bool exists = false;
    std::optional<Anchor> anchor;  ///< None: there is no file, or neither slot is intact.
  };
  static Found read(const std::string& directory);
  /// Whether the anchor and its batch fit into a slot.
  static bool fits(const Anchor& anchor);

  /// Makes the file if it is not there, and writes `anchor` to both slots. Errors: StorageFull, Internal.
  static Result<std::unique_ptr<AnchorFile>> open(const std::string& directory, const Anchor& anchor);
  ~AnchorFile();

  /// Synced when it returns. REQUIRES for this and the next: `fits(anchor)`. Errors: StorageFull, Internal.
  Result<void> write(const Anchor& anchor);
  /// Starts the same on the further thread. REQUIRES: `finish_write` is called before any other member.
  void begin_write(const Anchor& anchor);
  Result<void> finish_write();
  /// Makes the last write unreadable, so that `before` is in force again.
  Result<void> take_back(const Anchor& before);

 private:
  AnchorFile(int file, std::string directory);
  std::string encode_next(const Anchor& anchor);
  Result<void> write_slot(unsigned slot, const std::string& bytes);
  void run();

  const int file_;
  const std::string directory_;
  std::uint64_t revision_ = 0;
  unsigned newest_ = 0;  ///< Slot of the last write.

  std::mutex mutex_;  ///< Guards the members below.
  std::condition_variable changed_;
  std::optional<std::string> ordered_;
  std::optional<Result<void>> done_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace penstock
