// Codes of refusals by number and by name.
#include "common/base/error_code_of.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(ErrorCodeOf, EveryCodeIsFoundByItsNumberAndItsName) {
  std::uint16_t number = 1;
  for (; error_code_of(number); ++number) EXPECT_EQ(error_code_of(to_string(ErrorCode{number})), ErrorCode{number});
  EXPECT_EQ(number, 1U + static_cast<std::uint16_t>(ErrorCode::PermissionDenied)) << "and no number is left out";
  EXPECT_EQ(error_code_of(std::uint16_t{0}), std::nullopt);
  EXPECT_EQ(error_code_of(std::uint16_t{65535}), std::nullopt);
  EXPECT_EQ(error_code_of("Unknown"), std::nullopt);
}

}  // namespace
}  // namespace penstock
