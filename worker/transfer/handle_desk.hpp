// Hands out handles of data to other processes of the host, which map the data instead of copying them.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/loop/loop.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/transfer_format.hpp"

namespace penstock::worker {

/// Limits of data that others have mapped or are offered; further data are sent as copies.
struct HandleLimits {
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();  ///< Each datum counts once. 0: no desk.
  std::size_t handles_max = 8192;                                       ///< Counted for each process.
  std::size_t visitors_max = 1024;              ///< Connections; further ones are closed at once.
  Duration wait_max = std::chrono::seconds{5};  ///< An offer expires after this.
};

struct MappedDatum {
  DataKey key;
  BlobPtr blob;
};

/// The local socket serves processes of the same user. A datum that a process has mapped stays here until the last one
/// gives it back or ends. Its memory is safe in any case (it is sealed, and the kernel frees it after the last
/// mapping), but the memory quota has to count it as in use.
///
/// Lives on its loop's thread; `count` is for any thread.
class HandleDesk {
 public:
  /// Errors: as of `listen_locally`.
  static Result<std::shared_ptr<HandleDesk>> open(Loop& loop, const HandleLimits& limits);
  ~HandleDesk();
  HandleDesk(const HandleDesk&) = delete;
  HandleDesk& operator=(const HandleDesk&) = delete;

  /// None if the datum has to be sent: plain memory, or beyond the limits.
  std::optional<HandleOffer> offer(const DataKey& key, BlobPtr blob);
  /// Data that others have mapped or are offered, each once.
  std::vector<MappedDatum> mapped() const;
  /// Tickets that are in use.
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  struct State;
  HandleDesk();
  std::atomic<std::size_t> count_{0};  ///< For display and queries only, so relaxed.
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
