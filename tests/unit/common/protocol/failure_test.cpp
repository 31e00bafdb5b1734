// The handling of failures: the codes that say where another attempt may end better.
#include "common/protocol/failure.hpp"

#include <gtest/gtest.h>

#include <set>

#include "common/base/error_code_of.hpp"

namespace penstock {
namespace {

TEST(TryAgain, WhatIsKnownToEndAlikeIsTriedOnOtherWorkersOrNowhere) {
  const std::set<ErrorCode> elsewhere{ErrorCode::LimitExceeded,   ErrorCode::RequestTooLarge,
                                      ErrorCode::ProgramNotFound, ErrorCode::UnknownOperator,
                                      ErrorCode::VersionMismatch, ErrorCode::PermissionDenied};
  for (std::uint16_t number = 1; error_code_of(number); ++number) {
    const ErrorCode code{number};
    const TryAgain expected = code == ErrorCode::InvalidArgument ? TryAgain::Nowhere
                              : elsewhere.contains(code)         ? TryAgain::OnOtherWorkers
                                                                 : TryAgain::Anywhere;
    EXPECT_EQ(where_to_try_again(code), expected) << to_string(code);
  }
  EXPECT_EQ(where_to_try_again(std::nullopt), TryAgain::Anywhere);
}

TEST(BackoffAfterTransfers, DoublesFromFiftyMillisecondsToFiveSecondsAndIsDrawnFromItsUpperHalf) {
  Rng rng{7};
  std::set<Duration> drawn;
  for (std::uint32_t failed = 1; failed < 200; ++failed) {
    const Duration whole = failed > 7 ? kTransferBackoffMax : kTransferBackoff * (1U << (failed - 1));
    const Duration delay = backoff_after_transfers(failed, rng);
    EXPECT_GE(delay, std::max(whole / 2, kTransferBackoff)) << failed;
    EXPECT_LE(delay, whole) << failed;
    drawn.insert(delay);
  }
  EXPECT_GT(drawn.size(), 150U);
}

}  // namespace
}  // namespace penstock
