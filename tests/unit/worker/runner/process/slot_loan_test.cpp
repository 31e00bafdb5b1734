#include "worker/runner/process/slot_loan.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <vector>

namespace penstock::worker {
namespace {

/// A core that answers within the wish, or leaves it to the test.
class SlotLoanTest : public ::testing::Test {
 protected:
  SlotLoanTest() { loan.serve(&tell, &cancelled, &ending); }

  static ErrorCode code_of(const Result<void>& result) { return result ? ErrorCode::Internal : result.error().code; }
  bool bell_rings() {
    pollfd wanted{loan.bell(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) > 0;
  }

  static constexpr std::uint64_t kTicket = 5;
  const Attempt attempt{3};
  std::atomic<std::uint64_t> cancelled{~std::uint64_t{0}};
  std::atomic<bool> ending{false};
  bool lends = true;
  bool grants = true;
  std::vector<SlotWish> wishes;
  const TellSlotWish tell = [this](std::uint64_t ticket, Attempt of, SlotWish wish) {
    EXPECT_EQ(ticket, kTicket);
    EXPECT_EQ(of, attempt);
    wishes.push_back(wish);
    if (wish == SlotWish::Lend) loan.answer(ticket, lends);
    if (wish == SlotWish::TakeBack && grants) loan.grant(ticket);
  };
  SlotLoan loan;
};

TEST_F(SlotLoanTest, ASlotIsLentAndTakenBackAsOftenAsARunLikes) {
  EXPECT_FALSE(loan.used());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(loan.lend(kTicket, attempt));
    EXPECT_TRUE(loan.take_back());
  }
  EXPECT_TRUE(loan.used());
  EXPECT_EQ(wishes, (std::vector{SlotWish::Lend, SlotWish::TakeBack, SlotWish::Lend, SlotWish::TakeBack}));
}

TEST_F(SlotLoanTest, WhatIsNotInItsPlaceIsRefusedAndNobodyIsAsked) {
  EXPECT_EQ(code_of(loan.take_back()), ErrorCode::WrongState);
  EXPECT_TRUE(loan.lend(kTicket, attempt));
  EXPECT_EQ(code_of(loan.lend(kTicket, attempt)), ErrorCode::WrongState);
  EXPECT_TRUE(loan.take_back());
  EXPECT_EQ(code_of(loan.take_back()), ErrorCode::WrongState);
  EXPECT_EQ(wishes.size(), 2U);
}

TEST_F(SlotLoanTest, AtTheLimitTheRunKeepsItsSlotAndMayAskAgain) {
  lends = false;
  EXPECT_EQ(code_of(loan.lend(kTicket, attempt)), ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(loan.take_back()), ErrorCode::WrongState);
  lends = true;
  EXPECT_TRUE(loan.lend(kTicket, attempt));
}

TEST_F(SlotLoanTest, AStoppedRunDoesNotAskForItsSlotAndGoesOnWithoutIt) {
  EXPECT_TRUE(loan.lend(kTicket, attempt));
  cancelled = kTicket;
  EXPECT_EQ(code_of(loan.take_back()), ErrorCode::Cancelled);
  EXPECT_EQ(code_of(loan.take_back()), ErrorCode::Cancelled);
  EXPECT_EQ(code_of(loan.lend(kTicket, attempt)), ErrorCode::Cancelled);
  EXPECT_EQ(wishes.size(), 1U);
}

TEST_F(SlotLoanTest, AStopEndsTheWaitForASlotWhichMayComeAllTheSame) {
  grants = false;
  EXPECT_TRUE(loan.lend(kTicket, attempt));
  std::thread stops{[&] {
    cancelled = kTicket;
    loan.ring();
  }};
  EXPECT_EQ(code_of(loan.take_back()), ErrorCode::Cancelled);
  stops.join();
  loan.grant(kTicket);
  cancelled = ~std::uint64_t{0};
  EXPECT_TRUE(loan.lend(kTicket, attempt));
}

TEST_F(SlotLoanTest, TheEndOfTheLanesEndsEveryWait) {
  const TellSlotWish nobody = [](std::uint64_t, Attempt, SlotWish) {};
  SlotLoan other;
  other.serve(&nobody, &cancelled, &ending);
  std::thread ends{[&] {
    ending = true;
    other.ring();
  }};
  EXPECT_EQ(code_of(other.lend(kTicket, attempt)), ErrorCode::Cancelled);
  ends.join();
  EXPECT_EQ(code_of(other.take_back()), ErrorCode::Cancelled);
}

TEST_F(SlotLoanTest, WhoCannotWaitLooksAndHearsABell) {
  grants = false;
  EXPECT_TRUE(loan.lend(kTicket, attempt));
  EXPECT_TRUE(loan.want());
  EXPECT_FALSE(loan.look().has_value());
  EXPECT_FALSE(bell_rings());
  loan.grant(kTicket);
  EXPECT_TRUE(bell_rings());
  const auto got = loan.look();
  ASSERT_TRUE(got.has_value());
  EXPECT_TRUE(got->has_value());
  EXPECT_FALSE(bell_rings());
  EXPECT_TRUE(loan.lend(kTicket, attempt));
  EXPECT_TRUE(loan.want());
  EXPECT_EQ(code_of(loan.want()), ErrorCode::WrongState);
  cancelled = kTicket;
  const auto stopped = loan.look();
  ASSERT_TRUE(stopped.has_value());
  EXPECT_EQ(code_of(*stopped), ErrorCode::Cancelled);
}

TEST_F(SlotLoanTest, NothingOfARunIsLeftForTheNextOne) {
  grants = false;
  EXPECT_TRUE(loan.lend(kTicket, attempt));
  EXPECT_TRUE(loan.want());
  loan.reset();
  EXPECT_FALSE(loan.used());
  loan.grant(kTicket);
  loan.answer(kTicket, true);
  EXPECT_EQ(code_of(loan.take_back()), ErrorCode::WrongState);
}

TEST_F(SlotLoanTest, AnAnswerToAnotherTicketIsNotHeard) {
  grants = false;
  EXPECT_TRUE(loan.lend(kTicket, attempt));
  EXPECT_TRUE(loan.want());
  loan.grant(kTicket + 1);
  EXPECT_FALSE(loan.look().has_value());
}

TEST(SlotLoanOfNobody, ALaneWhoseSlotsNobodyTakesSaysSo) {
  const TellSlotWish none;
  const std::atomic<std::uint64_t> cancelled{0};
  const std::atomic<bool> ending{false};
  SlotLoan loan;
  loan.serve(&none, &cancelled, &ending);
  const Result<void> lent = loan.lend(1, Attempt{1});
  ASSERT_FALSE(lent);
  EXPECT_EQ(lent.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace penstock::worker
