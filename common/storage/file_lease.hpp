// The right to write in a directory that several hosts may share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace penstock {

/// What one who waits for a lease has seen of its holder. No clock of another host is looked at: a holder is silent when
/// its lease has not changed for `patience` of our own monotonic time. Of the time between two looks a quarter of the
/// patience counts at most: who has slept with the holder does not overtake it on waking.
struct LeaseWatch {
  Duration patience{};
  std::string content{};  ///< What was seen last.
  Instant looked{};
  Duration silent{};  ///< Since the content has changed.
};

/// A lease is a file `lease-N`. Whoever makes the one with the next number, which only one can, has the state from then on,
/// whatever the holder before thinks of it: that one finds the next number, or misses its own, and ends. A holder locks its
/// file, so one that has died is known at once; it writes to it now and then, so one that hangs is known after a while.
///
/// `is_held`, `check` and `renew` may be called by any thread.
class FileLease {
 public:
  /// Errors: StorageLocked (names the holder), InvalidArgument (the directory cannot be written to). With a watch, the
  /// lease of a holder that was silent for its patience is taken over; without, only that of one that has died.
  static Result<std::unique_ptr<FileLease>> claim(const std::string& directory, const std::string& owner,
                                                  LeaseWatch* watch, Instant now);
  /// Lets go of it. The file stays: its number is not given again.
  ~FileLease();
  FileLease(const FileLease&) = delete;
  FileLease& operator=(const FileLease&) = delete;

  std::uint64_t number() const { return number_; }
  /// Somebody who had the state before us may still live, and has its files open.
  bool is_contested() const { return contested_; }
  /// Earlier holders cannot reach the state any more: their leases are removed.
  void settle();

  bool is_held() const;
  /// Error: StorageLocked, names who holds it now.
  Result<void> check() const;
  /// Shows whoever watches that we live. Errors: those of `check`; a disk that does not take it is none.
  Result<void> renew();

 private:
  FileLease(std::string directory, std::string owner, std::uint64_t number, int file);

  const std::string directory_;
  const std::string owner_;
  const std::uint64_t number_;
  const int file_;  ///< Has the lock.
  bool contested_ = false;
  std::mutex mutex_;  ///< Of the next member.
  std::uint64_t renewals_ = 0;
};

}  // namespace penstock
