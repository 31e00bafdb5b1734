// Hands out handles of data to other processes of the host, which map what is here instead of copying it.
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
#include "common/runtime/loop.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/transfer_format.hpp"

namespace penstock::worker {

/// How much others may have mapped or be offered; further data are sent as copies.
struct HandleLimits {
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();  ///< Each datum counts once. 0: no desk.
  std::size_t handles_max = 8192;                                       ///< Each process counts.
  std::size_t visitors_max = 1024;              ///< Connections; further ones are closed at once.
  Duration wait_max = std::chrono::seconds{5};  ///< What was offered is fetched by then, or not at all.
};

struct MappedDatum {
  DataKey key;
  BlobPtr blob;
};

/// Its local socket serves processes of its own user. A datum that somebody has is kept here until the last one gives
/// it back or is gone: that its memory is not used for anything else is certain anyway (it is sealed, and the kernel
/// frees it after the last mapping), but who keeps accounts has to know that it is still in use.
///
/// Lives on its loop's thread; `count` is for any.
class HandleDesk {
 public:
  /// Errors: as of `listen_locally`.
  static Result<std::shared_ptr<HandleDesk>> open(Loop& loop, const HandleLimits& limits);
  ~HandleDesk();
  HandleDesk(const HandleDesk&) = delete;
  HandleDesk& operator=(const HandleDesk&) = delete;

  /// None if it is to be sent: plain memory, or beyond the limits.
  std::optional<HandleOffer> offer(const DataKey& key, BlobPtr blob);
  /// What others have, or are offered, each once.
  std::vector<MappedDatum> mapped() const;
  /// Of tickets that are out.
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  struct State;
  HandleDesk();
  std::atomic<std::size_t> count_{0};  ///< For people and questions only, so relaxed.
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
