#include "supervisor/core/policy/policy_turns.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "tests/support/coverage_marks.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;

constexpr Instant at(int ms) { return Instant{} + milliseconds{ms}; }

/// A policy of one pool. Nothing has changed yet.
class PolicyTurnsTest : public ::testing::Test {
 protected:
  PolicyTurnsTest() {
    event.out = &out;
    event.now = at(100);
    policy.config.pools = {{.name = "all"}};
    policy.config.settle = milliseconds{5};
    policy.config.period = milliseconds{200};
    policy.config.pass_max = milliseconds{1000};
  }
  void begin_pass() { policy.pass.emplace().begun = event.now; }
  /// Messages of the alerts since the last call.
  std::vector<std::string> alerts() {
    std::vector<std::string> messages;
    for (const SupervisorAction& action : out)
      if (const auto* alert = std::get_if<supervisor_action::Alert>(&action)) messages.push_back(alert->error.message);
    out.clear();
    return messages;
  }

  Actions<SupervisorAction> out;
  EventContext event;
  JobTable jobs;
  WorkerTable workers;
  Eligibility eligibility{workers};
  PolicyState policy;
  JobIndices indices;
  PolicyView view{jobs, workers, eligibility, policy, indices};
  PolicyTurns turns{event, policy, view};
};

TEST_F(PolicyTurnsTest, WithoutAPolicyNothingIsEverDue) {
  policy.config.pools.clear();
  turns.policy_changed();
  EXPECT_EQ(policy.due, kNever);
  EXPECT_EQ(turns.policy_deadline(), std::nullopt);
}

TEST_F(PolicyTurnsTest, ChangesAreGatheredFromTheFirstOneOn) {
  EXPECT_EQ(turns.policy_deadline(), kNever);
  turns.policy_changed();
  EXPECT_EQ(turns.policy_deadline(), at(105));
  event.now = at(103);
  turns.policy_changed();
  EXPECT_EQ(turns.policy_deadline(), at(105)) << "a stream of changes does not put the pass off";
}

TEST_F(PolicyTurnsTest, AChangeBringsALaterPassForward) {
  policy.due = at(300);
  turns.policy_changed();
  EXPECT_EQ(turns.policy_deadline(), at(105));
}

TEST_F(PolicyTurnsTest, NoPassBeginsWhileOneIsUnderWayUntilThatTakesTooLong) {
  begin_pass();
  turns.policy_changed();
  EXPECT_EQ(turns.policy_deadline(), at(1100)) << "when it is given up";
  policy.pass.reset();
  EXPECT_EQ(turns.policy_deadline(), at(105)) << "the change is not forgotten";
}

TEST_F(PolicyTurnsTest, ABarrierMayEndBeforeAnyPass) {
  turns.policy_changed();
  policy.barriers_end = at(102);
  EXPECT_EQ(turns.policy_deadline(), at(102));
  begin_pass();
  EXPECT_EQ(turns.policy_deadline(), at(102));
  policy.barriers_end = at(5000);
  EXPECT_EQ(turns.policy_deadline(), at(1100));
}

TEST_F(PolicyTurnsTest, APassThatIsGivenUpIsFollowedByOneAfterAPeriod) {
  begin_pass();
  event.now = at(400);
  PENSTOCK_EXPECT_COVERAGE_MARK("a pass of the policy came to nothing", turns.give_up_pass("it broke"));
  EXPECT_FALSE(policy.pass.has_value());
  EXPECT_EQ(policy.given_up, 1U);
  EXPECT_EQ(turns.policy_deadline(), at(600));
}

TEST_F(PolicyTurnsTest, ACauseIsToldOnceUntilThereIsAnotherOne) {
  using Messages = std::vector<std::string>;
  turns.give_up_pass("it broke");
  EXPECT_EQ(alerts(), Messages{"a pass came to nothing: it broke"});
  turns.give_up_pass("it broke");
  EXPECT_EQ(alerts(), Messages{});
  turns.give_up_pass("it was late");
  EXPECT_EQ(alerts(), Messages{"a pass came to nothing: it was late"});
  EXPECT_EQ(policy.given_up, 3U);
}

}  // namespace
}  // namespace penstock::supervisor
