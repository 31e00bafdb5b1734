// The rate of requests of each user.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/protocol/identity.hpp"
#include "common/protocol/user_limits.hpp"

namespace penstock::supervisor {

/// A bucket of tokens that fills at a steady rate. Always true: of any span of time `t` it grants at most `burst` and
/// `per_second` times `t`. Driven by the time of events; single-threaded.
class RequestBucket {
 public:
  /// REQUIRES: both are above 0.
  RequestBucket(std::uint32_t per_second, std::uint32_t burst);

  /// None: one more request is granted. Else the time after which it may pass: a later request is told a later time, so
  /// that not all come back at once, but none more than `kRetryMax`.
  std::optional<Duration> take(Instant now);
  /// Whether it grants a whole burst, as a new one does.
  bool is_full(Instant now) const { return filled_at_ <= now; }

  static constexpr Duration kRetryMax = std::chrono::seconds{10};

 private:
  Duration interval_;  ///< Between two requests, rounded up.
  Duration slack_;     ///< A bucket that is full so late still grants one.
  Instant filled_at_ = Instant::min();
  Instant promised_ = Instant::min();  ///< The next request that is refused may pass then.
};

/// Decides which requests of clients are taken: `users.requests_per_second` and `users.requests_burst`. Users with the
/// roles `client` and `run` have a bucket each. Operators, administrators and peers without a certificate, which may do
/// everything, have no limit; the runs of a worker are of many users, so each of its connections has a bucket. A bucket
/// that is full again is forgotten in time. Cost: logarithmic in the users.
class RequestRates {
 public:
  explicit RequestRates(const UserLimits& limits) : limits_(limits) {}

  /// None: the request is taken. Else the time after which the same one may pass. `connection`: of the peer.
  std::optional<Duration> take(const PeerIdentity& from, Incarnation connection, Instant now);
  std::size_t size() const { return buckets_.size(); }

 private:
  struct Key {
    std::string user;
    Incarnation connection;  ///< None: of all.
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void forget_full(Instant now);

  const UserLimits limits_;
  std::map<Key, RequestBucket> buckets_;
  std::size_t forget_at_ = 1024;  ///< Buckets; then those that are full go.
};

/// The refusal of a request above the rate. The same text each time: a log counts it.
Error over_rate(const std::string& user, const UserLimits& limits);

}  // namespace penstock::supervisor
