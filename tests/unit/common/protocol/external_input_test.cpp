#include "common/protocol/external_input.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(ExternalInput, APayloadSaysWhatIsLent) {
  const ExternalDatum datum{{JobId{0x01020304}, SubtaskIndex{7}}, 0x0506};
  const std::string payload = external_datum_payload(datum);
  EXPECT_EQ(payload, (std::string{"\x04\x03\x02\x01\x07\0\0\0\x06\x05\0\0", 12}));
  EXPECT_EQ(read_external_datum(payload), datum);
  const ExternalDatum identified{datum.producer, datum.output, {0x0102030405060708ULL, 9}};
  EXPECT_EQ(external_datum_payload(identified).size(), 28U);
  EXPECT_EQ(read_external_datum(external_datum_payload(identified)), identified);
}

TEST(ExternalInput, WhatIsNoSuchPayloadIsNone) {
  const std::string payload = external_datum_payload({{JobId{1}, SubtaskIndex{2}}, 3});
  EXPECT_EQ(read_external_datum(""), std::nullopt);
  EXPECT_EQ(read_external_datum(payload.substr(1)), std::nullopt);
  EXPECT_EQ(read_external_datum(payload + "x"), std::nullopt);
  EXPECT_EQ(read_external_datum(std::string(12, '\xff')), std::nullopt);
  EXPECT_EQ(read_external_datum(external_datum_payload({{JobId{1}, SubtaskIndex{2}}, EdgeKind::kOrderOnly})),
            std::nullopt);
}

TEST(ExternalInput, OnlyTheNativeOperatorBorrows) {
  Template content;
  content.program = kAliasOperator;
  EXPECT_TRUE(is_alias(content));
  content.runner = RunnerKind::Command;
  EXPECT_FALSE(is_alias(content));
}

}  // namespace
}  // namespace penstock
