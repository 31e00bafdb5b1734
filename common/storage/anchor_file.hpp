// How far a storage is known to reach, written down apart from it.
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

/// What a salvage could not keep. Whoever begins to use the storage tells of it first.
struct SalvageLoss {
  std::uint64_t gaps = 0;          ///< Places where at least one entry could not be read.
  std::uint64_t commits_lost = 0;  ///< The last so many that were promised are not there.
  bool end_unknown = false;        ///< The anchor is lost, too: whether the last commits are there, nobody knows.
};

/// Every commit has a number, one more than that before, and a chain: the hash of its bytes and of the chain before.
struct Anchor {
  std::uint64_t number = 0;  ///< Of the newest commit that anybody may have been told of; 0: there was none.
  std::uint64_t chain = 0;
  bool rewritten = false;  ///< The storage was salvaged or restored, and nobody has begun to use it since.
  std::map<std::string, std::string, std::less<>> doubled;  ///< Entries whose newest values are kept here, too.
  std::optional<SalvageLoss> untold{};  ///< Of a salvaged storage that nobody has begun to use since.
  std::string batch;  ///< The commit itself, as the storage writes it; empty: it was on the disk before this was written.
};

/// The file `ANCHOR` in the directory of a storage. It has two slots, each with a checksum and a revision; a write goes to
/// the older one, so a torn write leaves the other. It never grows: a full disk does not keep it from being written.
/// Its format is described in `schema/journal.capnp`.
///
/// Owned by one thread; a thread of its own writes between `begin_write` and `finish_write`.
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
  /// Orders the same of the other thread. REQUIRES: `finish_write` is called before anything else.
  void begin_write(const Anchor& anchor);
  Result<void> finish_write();
  /// Makes the last write unreadable: `before` takes its place.
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

  std::mutex mutex_;  ///< Guards those below.
  std::condition_variable changed_;
  std::optional<std::string> ordered_;
  std::optional<Result<void>> done_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace penstock
