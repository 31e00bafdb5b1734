// What is done about failures: the codes that say where another attempt may end better.
#include "common/protocol/failure.hpp"

#include <gtest/gtest.h>

#include <set>

#include "common/base/error_code_of.hpp"

namespace penstock {
namespace {

TEST(TryAgain, WhatIsKnownToEndAlikeIsTriedOnOtherWorkersOrNowhere) {
  const std::set<ErrorCode> elsewhere{ErrorCode::LimitExceeded, ErrorCode::RequestTooLarge, ErrorCode::ProgramNotFound,
                                      ErrorCode::UnknownOperator, ErrorCode::VersionMismatch};
  for (std::uint16_t number = 1; error_code_of(number); ++number) {
    const ErrorCode code{number};
    const TryAgain expected = code == ErrorCode::InvalidArgument ? TryAgain::Nowhere
                              : elsewhere.contains(code)         ? TryAgain::OnOtherWorkers
                                                                 : TryAgain::Anywhere;
    EXPECT_EQ(where_to_try_again(code), expected) << to_string(code);
  }
  EXPECT_EQ(where_to_try_again(std::nullopt), TryAgain::Anywhere);
}

}  // namespace
}  // namespace penstock
