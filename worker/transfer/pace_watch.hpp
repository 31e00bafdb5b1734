// Notices the peer of a transfer that is silent or too slow.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>

#include "common/base/time.hpp"

namespace penstock::worker {

/// A peer moves at least `bytes_min` in each `silence_max`, or its connection is closed.
struct PaceLimits {
  Duration silence_max = std::chrono::seconds{10};
  std::size_t bytes_min = 16U << 10U;
};

/// Counts the bytes that move on one connection while its peer is expected to act. One timer for each `silence_max`,
/// however many bytes move. Belongs to the connection, on its loop's thread.
class PaceWatch {
 public:
  explicit PaceWatch(boost::asio::io_context& io) : timer_(io) {}

  /// Begins to watch. `on_slow` is called once, unless the watch ends or begins again before; it keeps the connection
  /// alive.
  template <class OnSlow>
  void begin(const PaceLimits& limits, OnSlow on_slow) {
    end();
    limits_ = limits;
    next_window(on_slow);
  }
  void moved(std::size_t bytes) { moved_ += bytes; }
  void end() {
    ++window_;
    timer_.cancel();
  }

  /// Makes an operation of Asio move all its bytes with as few calls as the socket allows, instead of 64 KiB at a time,
  /// and counts them as they move.
  auto at_once(std::size_t bytes) {
    return [this, bytes, before = std::size_t{0}](const auto& error, std::size_t so_far) mutable {
      moved(so_far - before);
      before = so_far;
      return error ? 0 : bytes;
    };
  }

 private:
  template <class OnSlow>
  void next_window(OnSlow on_slow) {
    moved_ = 0;
    timer_.expires_after(limits_.silence_max);
    timer_.async_wait([this, on_slow, window = ++window_](const boost::system::error_code& cancelled) {
      if (cancelled || window != window_) return;
      if (moved_ < limits_.bytes_min) return on_slow();
      next_window(on_slow);
    });
  }

  boost::asio::steady_timer timer_;
  PaceLimits limits_;
  std::size_t moved_ = 0;     ///< In this window.
  std::uint64_t window_ = 0;  ///< An expiry that was queued before the watch ended belongs to an earlier window.
};

}  // namespace penstock::worker
