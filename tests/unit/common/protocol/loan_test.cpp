#include "common/protocol/loan.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Loan, APayloadSaysWhatIsLent) {
  const LentDatum lent{{JobId{0x01020304}, SubtaskIndex{7}}, 0x0506};
  const std::string payload = loan_payload(lent);
  EXPECT_EQ(payload, (std::string{"\x04\x03\x02\x01\x07\0\0\0\x06\x05\0\0", 12}));
  EXPECT_EQ(read_loan(payload), lent);
  const LentDatum identified{lent.producer, lent.output, {0x0102030405060708ULL, 9}};
  EXPECT_EQ(loan_payload(identified).size(), 28U);
  EXPECT_EQ(read_loan(loan_payload(identified)), identified);
}

TEST(Loan, WhatIsNoSuchPayloadIsNone) {
  const std::string payload = loan_payload({{JobId{1}, SubtaskIndex{2}}, 3});
  EXPECT_EQ(read_loan(""), std::nullopt);
  EXPECT_EQ(read_loan(payload.substr(1)), std::nullopt);
  EXPECT_EQ(read_loan(payload + "x"), std::nullopt);
  EXPECT_EQ(read_loan(std::string(12, '\xff')), std::nullopt);
  EXPECT_EQ(read_loan(loan_payload({{JobId{1}, SubtaskIndex{2}}, EdgeKind::kOrderOnly})), std::nullopt);
}

TEST(Loan, OnlyTheNativeOperatorBorrows) {
  Template content;
  content.program = kBorrowOperator;
  EXPECT_TRUE(borrows(content));
  content.runner = RunnerKind::Command;
  EXPECT_FALSE(borrows(content));
}

}  // namespace
}  // namespace penstock
