// The right to write in a directory that several hosts may share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace penstock {

/// The observations of a process that waits for a lease. Clocks of other hosts are not used: a holder is silent when
/// its lease has not changed for `patience` of our own monotonic time. Of the time between two looks at most a quarter
/// of the patience counts, so a process that was suspended together with the holder does not overtake it on waking.
struct LeaseWatch {
  Duration patience{};
  std::string content{};  ///< Content at the last look.
  Instant looked{};
  Duration silent{};  ///< Time since the content has changed.
};

/// A lease is a file `lease-N`. The process that makes the file with the next number, which only one can, has the state
/// from then on, even if the former holder still runs: that holder finds the next number, or misses its own, and ends.
/// A holder locks its file, so a dead holder is known at once; it writes to the file periodically, so a hanging holder
/// is known after a while.
///
/// Any thread may call `is_held`, `check` and `renew`.
class FileLease {
 public:
  /// Errors: StorageLocked (names the holder), InvalidArgument (the directory cannot be written to). With a watch, the
  /// lease of a holder that was silent for its patience is taken over; without, only that of a dead holder.
  static Result<std::unique_ptr<FileLease>> claim(const std::string& directory, const std::string& owner,
                                                  LeaseWatch* watch, Instant now);
  /// Releases the lease. The file stays, so that its number is not used again.
  ~FileLease();
  FileLease(const FileLease&) = delete;
  FileLease& operator=(const FileLease&) = delete;

  std::uint64_t number() const { return number_; }
  /// A former holder of the state may still live, and have its files open.
  bool is_contested() const { return contested_; }
  /// Earlier holders cannot reach the state any more: their leases are removed.
  void settle();

  bool is_held() const;
  /// Error: StorageLocked, names the present holder.
  Result<void> check() const;
  /// Shows watching processes that we live. Errors: those of `check`; a failing disk is none.
  Result<void> renew();

 private:
  FileLease(std::string directory, std::string owner, std::uint64_t number, int file);

  const std::string directory_;
  const std::string owner_;
  const std::uint64_t number_;
  const int file_;  ///< Has the lock.
  bool contested_ = false;
  std::mutex mutex_;  ///< Guards the next member.
  std::uint64_t renewals_ = 0;
};

}  // namespace penstock
