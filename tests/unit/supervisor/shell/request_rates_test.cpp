#include "supervisor/shell/request_rates.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant kBegin = instant_at(seconds{1000});
constexpr Incarnation kOne{1};
constexpr Incarnation kOther{2};

PeerIdentity identity(Role role, const std::string& user) { return {role, user, {}, {}}; }

UserLimits limits_of(std::uint32_t per_second, std::uint32_t burst) {
  UserLimits limits;
  limits.requests_per_second = per_second;
  limits.requests_burst = burst;
  return limits;
}

TEST(RequestBucket, GrantsABurstAndOneMoreForEachInterval) {
  RequestBucket bucket{10, 3};
  EXPECT_TRUE(bucket.is_full(kBegin));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(bucket.take(kBegin).has_value()) << i;
  EXPECT_EQ(bucket.take(kBegin), milliseconds{100});
  EXPECT_TRUE(bucket.take(kBegin + milliseconds{100} - nanoseconds{1}).has_value());
  EXPECT_FALSE(bucket.take(kBegin + milliseconds{100}).has_value());
  EXPECT_TRUE(bucket.take(kBegin + milliseconds{100}).has_value());
  EXPECT_FALSE(bucket.is_full(kBegin + milliseconds{399}));
  EXPECT_TRUE(bucket.is_full(kBegin + milliseconds{400}));
}

TEST(RequestBucket, TellsEachRefusedRequestATimeOfItsOwnUpToABound) {
  RequestBucket bucket{10, 1};
  EXPECT_FALSE(bucket.take(kBegin).has_value());
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(bucket.take(kBegin), milliseconds{100} * i);
  EXPECT_EQ(bucket.take(kBegin), RequestBucket::kRetryMax);
  EXPECT_EQ(bucket.take(kBegin), RequestBucket::kRetryMax);
}

TEST(RequestBucket, ARateThatIsNoWholeIntervalIsRoundedDown) {
  RequestBucket bucket{999'999, 1};
  int granted = 0;
  for (int ns = 0; ns <= 1'000'000; ++ns) granted += bucket.take(kBegin + nanoseconds{ns}) ? 0 : 1;
  EXPECT_LE(granted, 1000) << "in a millisecond: one, and 999.999 more";
  EXPECT_GE(granted, 999);
}

/// A request is made so long after the last one.
RC_GTEST_PROP(RequestBucket, NeverGrantsMoreThanABurstAndTheRateInAnySpan, ()) {
  const auto per_second = *rc::gen::inRange<std::uint32_t>(1, 2'000'000);
  const auto burst = *rc::gen::inRange<std::uint32_t>(1, 20);
  const std::int64_t interval = std::int64_t{1'000'000'000} / per_second + 1;
  const auto gaps = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::oneOf(rc::gen::just(std::int64_t{0}), rc::gen::inRange<std::int64_t>(0, 3 * interval),
                     rc::gen::inRange<std::int64_t>(0, 40 * interval)));
  RequestBucket bucket{per_second, burst};
  std::vector<Instant> granted;
  Instant now = kBegin;
  for (const std::int64_t gap : gaps) {
    now += nanoseconds{gap};
    if (!bucket.take(now)) granted.push_back(now);
  }
  for (std::size_t i = 0; i < granted.size(); ++i)
    for (std::size_t k = i; k < granted.size(); ++k) {
      const double seconds_passed = static_cast<double>((granted[k] - granted[i]).count()) / 1e9;
      RC_ASSERT(static_cast<double>(k - i + 1) <= burst + per_second * seconds_passed + 1e-6);
    }
}

/// A sender that waits as long as it is told loses nothing of its rate: it is not refused for ever.
RC_GTEST_PROP(RequestBucket, GrantsWhatIsSentAgainWhenItSaid, ()) {
  const auto per_second = *rc::gen::inRange<std::uint32_t>(1, 10'000);
  const auto burst = *rc::gen::inRange<std::uint32_t>(1, 20);
  const auto requests = *rc::gen::inRange<std::uint32_t>(1, 50);
  RequestBucket bucket{per_second, burst};
  Instant now = kBegin;
  for (std::uint32_t i = 0; i < requests; ++i)
    if (const std::optional<Duration> wait = bucket.take(now)) {
      now += *wait;
      RC_ASSERT(!bucket.take(now).has_value());
    }
}

TEST(RequestRates, EachUserHasOneBucketWhateverItsConnections) {
  RequestRates rates{limits_of(1, 2)};
  const PeerIdentity ada = identity(Role::Client, "ada");
  EXPECT_FALSE(rates.take(ada, kOne, kBegin).has_value());
  EXPECT_FALSE(rates.take(ada, kOther, kBegin).has_value());
  EXPECT_TRUE(rates.take(ada, kOne, kBegin).has_value());
  EXPECT_TRUE(rates.take(ada, kOther, kBegin).has_value());
  EXPECT_FALSE(rates.take(identity(Role::Client, "bob"), kOne, kBegin).has_value());
}

TEST(RequestRates, EachConnectionOfAWorkerHasItsOwn) {
  RequestRates rates{limits_of(1, 1)};
  const PeerIdentity worker = identity(Role::Worker, "ada");
  EXPECT_FALSE(rates.take(worker, kOne, kBegin).has_value());
  EXPECT_TRUE(rates.take(worker, kOne, kBegin).has_value());
  EXPECT_FALSE(rates.take(worker, kOther, kBegin).has_value());
  EXPECT_FALSE(rates.take(identity(Role::Client, "ada"), kOne, kBegin).has_value()) << "none of the user's own";
}

TEST(RequestRates, OperatorsAndAdministratorsHaveNone) {
  RequestRates rates{limits_of(1, 1)};
  for (const Role role : {Role::Operator, Role::Admin})
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(rates.take(identity(role, "ada"), kOne, kBegin).has_value());
  EXPECT_EQ(rates.size(), 0U);
}

TEST(RequestRates, ZeroIsNoLimit) {
  RequestRates rates{limits_of(0, 1)};
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(rates.take(identity(Role::Client, "ada"), kOne, kBegin).has_value());
}

TEST(RequestRates, ForgetsUsersThatWereQuiet) {
  RequestRates rates{limits_of(1, 1)};
  for (int i = 0; i < 1024; ++i) rates.take(identity(Role::Client, "user-" + std::to_string(i)), kOne, kBegin);
  EXPECT_EQ(rates.size(), 1024U);
  rates.take(identity(Role::Client, "ada"), kOne, kBegin + seconds{1});
  EXPECT_EQ(rates.size(), 1U);
  EXPECT_TRUE(rates.take(identity(Role::Client, "ada"), kOne, kBegin + seconds{1}).has_value());
}

TEST(RequestRates, TheRefusalNamesTheLimitAndTheWayOut) {
  const Error error = over_rate("ada", limits_of(7, 9));
  EXPECT_EQ(error.code, ErrorCode::LimitExceeded);
  EXPECT_EQ(error.subject, "user 'ada'");
  EXPECT_NE(error.message.find("`users.requests_per_second`, which is 7"), std::string::npos) << error.message;
  EXPECT_NE(error.remedy.find("wait"), std::string::npos) << error.remedy;
}

}  // namespace
}  // namespace penstock::supervisor
