#include "cli/show/result_text.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace penstock::cli {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

TEST(ResultText, OnlyWhatIsPrintableIsText) {
  const std::string text = "a\tb\r\n\xc3\xa4";
  EXPECT_EQ(describe_result("k", text.size(), bytes_of(text)),
            (Value::Record{{"key", "k"}, {"bytes", text.size()}, {"text", text}}));
  for (const std::string& not_text : {std::string{"a\0b", 3}, std::string{"\x1b[2J"}, std::string{"\x7f"}})
    EXPECT_EQ(describe_result("k", 9, bytes_of(not_text)), (Value::Record{{"key", "k"}, {"bytes", 9U}}));
  EXPECT_EQ(describe_result("k", 0, {}), (Value::Record{{"key", "k"}, {"bytes", 0U}}));
}

TEST(ResultText, OfALongOneTheBeginningIsShown) {
  const std::string text(kResultBytesShown + 1, 'x');
  const Value result{describe_result("k", text.size(), bytes_of(text))};
  EXPECT_EQ(result["text"].text()->size(), kResultBytesShown);
  EXPECT_EQ(result["bytes"], Value{text.size()});
}

TEST(ResultText, IsPrintedUnderItsKey) {
  std::ostringstream out;
  print_results(out, {describe_result("a", 2, bytes_of("hi")), describe_result("b\x1b", 1U << 20U, {})});
  EXPECT_EQ(out.str(), "--- a\nhi\n--- b?: 1048576 bytes\n");
}

}  // namespace
}  // namespace penstock::cli
