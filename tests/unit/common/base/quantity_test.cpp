#include "common/base/quantity.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using namespace std::chrono_literals;

TEST(Quantity, DurationsAreRead) {
  EXPECT_EQ(parse_duration("10s").value(), 10s);
  EXPECT_EQ(parse_duration("20ms").value(), 20ms);
  EXPECT_EQ(parse_duration("5us").value(), 5us);
  EXPECT_EQ(parse_duration("1h").value(), 1h);
  EXPECT_EQ(parse_duration("2 min").value(), 2min);
  EXPECT_EQ(parse_duration("2m").value(), 2min);
  EXPECT_EQ(parse_duration("7d").value(), 168h);
  EXPECT_EQ(parse_duration("1.5 h").value(), 90min);
  EXPECT_EQ(parse_duration("0.000000001s").value(), 1ns);
  EXPECT_EQ(parse_duration("0").value(), 0s);
  EXPECT_EQ(parse_duration("36525d").value(), 36525 * 24h);
}

TEST(Quantity, DurationsThatAreNoneAreRefused) {
  for (const char* text : {"", "s", "10", "-1s", "10 parsecs", "1.s", ".5s", "1e3s", " 1s", "1s ", "36526d", "1h30m",
                           "99999999999999999999s", "9223372036854775807h", "nan", "infs"}) {
    const Result<Duration> result = parse_duration(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
  }
}

TEST(Quantity, BytesAreRead) {
  EXPECT_EQ(parse_bytes("512MiB").value(), kMiB * 512);
  EXPECT_EQ(parse_bytes("1.5 GB").value(), Bytes{1'500'000'000});
  EXPECT_EQ(parse_bytes("1.25KiB").value(), Bytes{1280});
  EXPECT_EQ(parse_bytes("100").value(), Bytes{100});
  EXPECT_EQ(parse_bytes("7B").value(), Bytes{7});
  EXPECT_EQ(parse_bytes("0.5EiB").value(), Bytes{std::int64_t{1} << 59});
  EXPECT_EQ(parse_bytes("9223372036854775807").value(), Bytes::max());
}

TEST(Quantity, BytesThatAreNoneAreRefused) {
  for (const char* text : {"", "MiB", "-5", "512M", "1 mib", "8EiB", "9223372036854775808", "0x10", "1,000"})
    EXPECT_FALSE(parse_bytes(text).has_value()) << text;
}

TEST(Quantity, ErrorsQuoteTheTextAndNameTheUnits) {
  EXPECT_EQ(to_string(parse_duration("10").error()),
            "'10': is a duration without a unit (write it like 10s or 250ms; units are ns, us, ms, s, min, h, d)");
}

TEST(Quantity, TextIsExactAndReadsBack) {
  EXPECT_EQ(to_text(Duration{10s}), "10s");
  EXPECT_EQ(to_text(Duration{90s}), "90s");
  EXPECT_EQ(to_text(Duration{60s}), "1min");
  EXPECT_EQ(to_text(Duration{1500us}), "1500us");
  EXPECT_EQ(to_text(Duration{0}), "0s");
  EXPECT_EQ(to_text(kMiB * 512), "512MiB");
  EXPECT_EQ(to_text(Bytes{1000}), "1000B");
  EXPECT_EQ(to_text(Bytes{0}), "0B");
  for (const Duration duration : {Duration{1ns}, Duration{24h}, Duration{8760h}, Duration{1234567ns}})
    EXPECT_EQ(parse_duration(to_text(duration)).value(), duration);
  for (const Bytes bytes : {Bytes{1}, kGiB * 3, Bytes::max(), Bytes{1536}})
    EXPECT_EQ(parse_bytes(to_text(bytes)).value(), bytes);
}

}  // namespace
}  // namespace penstock
