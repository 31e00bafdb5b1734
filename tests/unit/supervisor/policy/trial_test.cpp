#include <gtest/gtest.h>

#include "supervisor/policy/trial.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

PolicyBuilder mixed() {
  PolicyBuilder builder;
  const std::uint32_t band = builder.device_band(4);
  const std::uint32_t project = builder.project("p", 4);
  builder.job("whole", project);
  builder.holds(2, band);
  builder.job("part", project, 100);
  builder.wants_part(500);
  return builder;
}

// Spec: policy-runai 14 I6, I7.
TEST(Trial, UndoLeavesEverythingAsItWas) {
  const PolicyBuilder builder = mixed();
  const Parts parts = parts_named("quota");
  Trial trial{builder.snapshot, 0, parts};
  const std::size_t mark = trial.mark();
  const std::optional<BandFit> fit = trial.fit(1, 0, Trial::When::NowOrLater);
  ASSERT_TRUE(fit && fit->now);
  trial.place(1, 0, *fit);
  EXPECT_EQ(trial.room(0).idle.gpu, 1000);
  EXPECT_EQ(trial.owners()[0].of[2].allocated, 2500);
  EXPECT_EQ(trial.owners()[0].of[2].fixed, 500);
  trial.leave(0);
  EXPECT_EQ(trial.room(0).leaving.gpu, 2000);
  EXPECT_TRUE(trial.sums_are_right());
  trial.undo_to(mark);
  EXPECT_EQ(trial.room(0).idle.gpu, 2000);
  EXPECT_EQ(trial.owners()[0].of[2].allocated, 2000);
  EXPECT_EQ(trial.holdings(1).state, MemberState::Pending);
}

TEST(Trial, WhoIsPutBackWhereHeWasSimplyStays) {
  const PolicyBuilder builder = mixed();
  const Parts parts = parts_named("quota");
  Trial trial{builder.snapshot, 0, parts};
  trial.leave(0);
  trial.place(0, 0, *trial.fit(0, 0, Trial::When::Later));
  EXPECT_EQ(trial.state(0), MemberState::Running);
  EXPECT_EQ(trial.room(0).idle.gpu, 2000);
}

TEST(Trial, WhoWasToStartIsPromisedAnyOtherPlace) {
  PolicyBuilder builder = mixed();
  builder.device_band(1);
  builder.job("waits", 0);
  builder.wants(1);
  const Parts parts = parts_named("quota");
  Trial trial{builder.snapshot, 0, parts};
  trial.place(2, 0, *trial.fit(2, 0, Trial::When::NowOrLater));
  trial.leave(2);
  trial.place(2, 0, *trial.fit(2, 0, Trial::When::Later));
  EXPECT_EQ(trial.state(2), MemberState::Starting);
  trial.leave(2);
  trial.place(2, 1, *trial.fit(2, 1, Trial::When::Later));
  EXPECT_EQ(trial.state(2), MemberState::Promised);
  trial.leave(2);
  trial.place(2, 0, *trial.fit(2, 0, Trial::When::Later));
  EXPECT_EQ(trial.state(2), MemberState::Promised) << "it had another promise since";
  EXPECT_TRUE(trial.sums_are_right());
}

// Another has it by then: he would have started on what is still being left.
TEST(Trial, AStartThatIsForgottenIsNoRightToThePlace) {
  PolicyBuilder builder = mixed();
  builder.job("waits", 0);
  builder.wants(1);
  const Parts parts = parts_named("quota");
  Trial trial{builder.snapshot, 0, parts};
  trial.place(2, 0, *trial.fit(2, 0, Trial::When::NowOrLater));
  trial.leave(2);
  const std::size_t mark = trial.mark();
  trial.forget_start(2);
  trial.place(2, 0, *trial.fit(2, 0, Trial::When::Later));
  EXPECT_EQ(trial.state(2), MemberState::Promised);
  EXPECT_TRUE(trial.sums_are_right());
  trial.undo_to(mark);
  trial.place(2, 0, *trial.fit(2, 0, Trial::When::Later));
  EXPECT_EQ(trial.state(2), MemberState::Starting);
}

// Spec: policy-runai 1. Found by an independent model of the page.
TEST(Trial, ABandWithoutDevicesSaysNothingOfTheirMemory) {
  PolicyBuilder builder = mixed();
  builder.device_band(0);
  builder.snapshot.bands[0].device_memory_mib = 200;
  builder.snapshot.members[1].device_share = 0;
  builder.snapshot.members[1].device_memory_mib = 100;
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  EXPECT_EQ(trial.amount(1, kNone).gpu, 500);
}

// Spec: policy-determined 9.3.
TEST(Trial, OfADrainingBandOnlyWhatIsHeldIsDivided) {
  PolicyBuilder builder = mixed();
  builder.device_band(8);
  builder.snapshot.bands[0].state = BandState::Draining;
  const Parts parts = parts_named("quota");
  EXPECT_EQ((Trial{builder.snapshot, 0, parts}.total().gpu), 2000 + 8000);
}

TEST(Trial, WhoMovesHoldsTwoPlaces) {
  PolicyBuilder builder = mixed();
  builder.device_band(2);
  const Parts parts = parts_named("quota");
  Trial trial{builder.snapshot, 0, parts};
  trial.leave(0);
  trial.place(0, 1, *trial.fit(0, 1, Trial::When::Later));
  EXPECT_EQ(trial.state(0), MemberState::Promised);
  EXPECT_EQ(trial.room(0).leaving.gpu, 2000);
  EXPECT_EQ(trial.room(1).later().gpu, 0);
  EXPECT_TRUE(trial.sums_are_right());
}

}  // namespace
}  // namespace penstock::policy
