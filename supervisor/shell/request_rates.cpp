#include "supervisor/shell/request_rates.hpp"

#include <algorithm>

#include "common/base/check.hpp"

namespace penstock::supervisor {
namespace {

constexpr Duration kSecond = std::chrono::seconds{1};
constexpr std::size_t kForgetMin = 1024;

}  // namespace

RequestBucket::RequestBucket(std::uint32_t per_second, std::uint32_t burst) {
  PENSTOCK_CHECK(per_second > 0 && burst > 0);
  interval_ = Duration{(kSecond.count() + per_second - 1) / per_second};
  slack_ = interval_ * (burst - 1);
}

std::optional<Duration> RequestBucket::take(Instant now) {
  const Instant filled = std::max(filled_at_, now);
  if (filled - now <= slack_) {
    filled_at_ = filled + interval_;
    return std::nullopt;
  }
  const Instant passes = std::min(std::max(promised_, filled - slack_), now + kRetryMax);
  promised_ = passes + interval_;
  return passes - now;
}

std::optional<Duration> RequestRates::take(const PeerIdentity& from, Incarnation connection, Instant now) {
  if (limits_.requests_per_second == 0 || from.role == Role::Operator || from.role == Role::Admin) return std::nullopt;
  const Key key{from.user, from.role == Role::Worker ? connection : Incarnation::none()};
  auto bucket = buckets_.find(key);
  if (bucket == buckets_.end()) {
    if (buckets_.size() >= forget_at_) forget_full(now);
    bucket = buckets_.emplace(key, RequestBucket{limits_.requests_per_second, limits_.requests_burst}).first;
  }
  return bucket->second.take(now);
}

void RequestRates::forget_full(Instant now) {
  std::erase_if(buckets_, [now](const auto& entry) { return entry.second.is_full(now); });
  forget_at_ = std::max(kForgetMin, buckets_.size() * 2);
}

Error over_rate(const std::string& user, const UserLimits& limits) {
  return {ErrorCode::LimitExceeded, "user '" + user + "'",
          "sends requests faster than `users.requests_per_second`, which is " +
              std::to_string(limits.requests_per_second) + " (at once `users.requests_burst`, " +
              std::to_string(limits.requests_burst) + ")",
          "wait and send it again, which clients do by themselves, or raise `users.requests_per_second`"};
}

}  // namespace penstock::supervisor
