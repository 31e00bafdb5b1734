#include "common/json/json_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace penstock {
namespace {

TEST(JsonText, JsonKeepsOrderAndKinds) {
  const Value value = Value::Record{{"b", 1}, {"a", Value::List{true, 2.5, "x\n", Value{}}}, {"c", Value::Record{}}};
  EXPECT_EQ(to_json(value, -1), R"({"b":1,"a":[true,2.5,"x\n",null],"c":{}})");
  EXPECT_EQ(to_json(Value::Record{{"a", 1}}), "{\n  \"a\": 1\n}");
}

TEST(JsonText, JsonIsValidWhateverTheBytes) {
  EXPECT_EQ(to_json("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(to_json(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(to_json(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

}  // namespace
}  // namespace penstock
