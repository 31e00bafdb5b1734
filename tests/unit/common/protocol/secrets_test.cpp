#include "common/protocol/secrets.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Secrets, HaveNamesOfVariables) {
  EXPECT_TRUE(check_secrets({{"A_1", ""}, {"_b", "x y\n'\""}}));
  for (const char* name : {"", "1A", "A-B", "A=B", "A B"})
    EXPECT_EQ(check_secrets({{name, "x"}}).error().code, ErrorCode::InvalidArgument) << name;
  EXPECT_FALSE(check_secrets({{"A", "1"}, {"A", "2"}})) << "twice";
  EXPECT_FALSE(check_secrets({{"A", std::string{"a\0b", 3}}}));
}

TEST(Secrets, AreLimited) {
  EXPECT_TRUE(check_secrets({{"A", std::string(kSecretBytesMax, 'x')}}));
  EXPECT_EQ(check_secrets({{"A", std::string(kSecretBytesMax + 1, 'x')}}).error().code, ErrorCode::LimitExceeded);
  std::vector<Secret> many;
  for (std::size_t i = 0; i < kSecretsMax; ++i) many.push_back({"A" + std::to_string(i), "x"});
  EXPECT_TRUE(check_secrets(many));
  many.push_back({"B", "x"});
  EXPECT_EQ(check_secrets(many).error().code, ErrorCode::LimitExceeded);
}

TEST(Secrets, NoMessageHasAValue) {
  const Result<void> refused = check_secrets({{"A", std::string("hush\0", 5)}});
  EXPECT_EQ(to_string(refused.error()).find("hush"), std::string::npos);
}

}  // namespace
}  // namespace penstock
