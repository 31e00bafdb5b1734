#include "common/link/introduction.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr SupervisorTerm kKnown{Incarnation{1}, 7, 3, 10};

Welcome welcome_of(const SupervisorTerm& term, bool resumed = false) {
  Welcome welcome;
  welcome.incarnation = term.incarnation;
  welcome.state = term.state;
  welcome.branch = term.branch;
  welcome.life = term.life;
  welcome.resumed = resumed;
  return welcome;
}

TEST(Introduction, TheFirstWelcomeBeginsALink) {
  EXPECT_EQ(meaning_of(welcome_of(kKnown), {}, false, true), WelcomeMeaning::First);
}

TEST(Introduction, TheSameIncarnationResumesALinkThatItKnows) {
  EXPECT_EQ(meaning_of(welcome_of(kKnown, true), kKnown, true, false), WelcomeMeaning::Resumed);
  EXPECT_EQ(meaning_of(welcome_of(kKnown, false), kKnown, true, true), WelcomeMeaning::Over);
}

TEST(Introduction, OnlyALaterTermOfTheSameBranchGoesOn) {
  const auto meaning = [](SupervisorTerm term, bool follows = true) {
    return meaning_of(welcome_of(term), kKnown, true, follows);
  };
  EXPECT_EQ(meaning({Incarnation{2}, 7, 3, 11}), WelcomeMeaning::Renewed);
  EXPECT_EQ(meaning({Incarnation{2}, 7, 3, 11}, false), WelcomeMeaning::Over);
  EXPECT_EQ(meaning({Incarnation{2}, 7, 3, 9}), WelcomeMeaning::Over);
  EXPECT_EQ(meaning({Incarnation{2}, 7, 4, 11}), WelcomeMeaning::Over);
  EXPECT_EQ(meaning({Incarnation{2}, 8, 3, 11}), WelcomeMeaning::Over);
  EXPECT_EQ(meaning_of(welcome_of({Incarnation{2}, 0, 0, 2}), {Incarnation{1}, 0, 0, 1}, true, true),
            WelcomeMeaning::Over);
}

TEST(Introduction, ATermGoesOnAsItselfAndAsALaterOne) {
  EXPECT_TRUE(kKnown.goes_on_as(kKnown));
  EXPECT_TRUE(kKnown.goes_on_as({Incarnation{2}, 7, 3, 11}));
  EXPECT_FALSE(kKnown.goes_on_as({Incarnation{2}, 7, 3, 10}));
}

class HelloTest : public ::testing::Test {
 protected:
  static constexpr Incarnation kSelf{1};
  static Hello hello_of(Incarnation peer) {
    Hello hello;
    hello.incarnation = Incarnation{9};
    hello.peer = peer;
    return hello;
  }
  void receive_one() {
    link_.handle(link_event::Attached{}, now_, actions_);
    link_.handle(link_event::FrameArrived{{Incarnation{9}, 1, 0, {}}}, now_, actions_);
  }
  void lose() {
    link_.handle(link_event::Detached{}, now_, actions_);
    for (int ticks = 0; ticks < 100 && !link_.lost(); ++ticks)
      link_.handle(link_event::Tick{}, link_.next_deadline().value_or(now_), actions_);
    ASSERT_TRUE(link_.lost());
  }

  Instant now_ = instant_at(std::chrono::seconds{1});
  Actions<LinkAction> actions_;
  LinkCore link_{LinkConfig{}, Incarnation{9}, now_};
};

TEST_F(HelloTest, APeerWithoutALinkIsWelcomeUnlessItRemembersOne) {
  EXPECT_EQ(answer_to(hello_of(Incarnation::none()), kSelf, nullptr), HelloAnswer::Welcome);
  EXPECT_EQ(answer_to(hello_of(Incarnation{5}), kSelf, nullptr), HelloAnswer::Welcome);
  EXPECT_EQ(answer_to(hello_of(kSelf), kSelf, nullptr), HelloAnswer::GivenUp);
}

TEST_F(HelloTest, ALinkThatBothRememberResumes) {
  receive_one();
  EXPECT_EQ(answer_to(hello_of(kSelf), kSelf, &link_), HelloAnswer::Resume);
}

TEST_F(HelloTest, APeerThatHasNotReceivedItsWelcomeGetsAnother) {
  EXPECT_EQ(answer_to(hello_of(Incarnation::none()), kSelf, &link_), HelloAnswer::WelcomeAgain);
  receive_one();
  EXPECT_EQ(answer_to(hello_of(Incarnation::none()), kSelf, &link_), HelloAnswer::Unlinked);
}

TEST_F(HelloTest, ALinkThatIsLostDoesNotResume) {
  receive_one();
  lose();
  EXPECT_EQ(answer_to(hello_of(kSelf), kSelf, &link_), HelloAnswer::Unlinked);
}

}  // namespace
}  // namespace penstock
