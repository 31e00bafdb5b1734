#include "common/metrics/http_request.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr std::uint32_t kHeadMax = 512;

TEST(HttpRequest, ARequestMayComeByteForByte) {
  HttpRequest request{kHeadMax};
  const std::string text = "GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nAccept: application/openmetrics-text\r\n\r\n";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    bytes += text[i];
    ASSERT_FALSE(request.take(bytes)) << i;
  }
  bytes += text.back();
  bytes += "GET";  // Of the next one.
  ASSERT_TRUE(request.take(bytes));
  EXPECT_EQ(request.refusal(), 0);
  EXPECT_EQ(request.method() + " " + request.path(), "GET /metrics");
  EXPECT_TRUE(request.wants_open_metrics());
  EXPECT_TRUE(request.keeps_alive());
  EXPECT_EQ(bytes, "GET");
}

TEST(HttpRequest, AnOldPeerIsClosed) {
  HttpRequest request{kHeadMax};
  std::string bytes = "GET / HTTP/1.0\r\n\r\n";
  ASSERT_TRUE(request.take(bytes));
  EXPECT_FALSE(request.keeps_alive());
  EXPECT_FALSE(request.wants_open_metrics());
}

TEST(HttpRequest, WhatIsNoneHasAStatus) {
  const auto refusal = [](std::string bytes) {
    HttpRequest request{kHeadMax};
    return request.take(bytes) ? request.refusal() : std::uint16_t{1};
  };
  EXPECT_EQ(refusal("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a client of TLS\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost a\r\n\r\n"), 400);
  EXPECT_EQ(refusal("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(refusal("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"), 413);
  EXPECT_EQ(refusal("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), 413);
}

TEST(HttpRequest, AHeadAtItsLimitIsTakenAndOneBeyondIsNot) {
  const auto refusal = [](std::size_t size) {
    std::string bytes = "GET / HTTP/1.1\r\nX: ";
    const std::string end = "\r\n\r\n";
    bytes += std::string(size - bytes.size() - end.size(), 'x') + end;
    HttpRequest request{kHeadMax};
    return request.take(bytes) ? request.refusal() : std::uint16_t{1};
  };
  EXPECT_EQ(refusal(kHeadMax), 0);
  EXPECT_EQ(refusal(kHeadMax + 1), 431);
  // Also where no line ends.
  HttpRequest request{kHeadMax};
  std::string bytes(kHeadMax + 1, 'G');
  EXPECT_TRUE(request.take(bytes));
}

}  // namespace
}  // namespace penstock
