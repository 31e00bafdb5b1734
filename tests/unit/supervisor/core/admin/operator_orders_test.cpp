#include "supervisor/core/admin/operator_orders.hpp"

#include <gtest/gtest.h>

#include <array>

#include "supervisor/core/pool_parts.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

AdminRequest order(const std::string& command, std::vector<std::string> arguments) {
  return {1, command, std::move(arguments), {}};
}

/// The rooms of a supervisor without its core; with a preset, one pool and a project are in force.
struct OrderRooms {
  explicit OrderRooms(const std::string& preset, Durability with = Durability::Journal) : durability(with) {
    event.now = instant_at(std::chrono::seconds{1000});
    event.out = &out;
    if (preset.empty()) return;
    policy_base.state.config.pools = {{.name = "all", .preset = preset}};
    policy_base.state.config.projects = {{.name = "vision"}};
    policy_base.state.tree = project_tree(policy_base.state.config);
    policy_base.state.parts = parts_in_force(policy_base.state.config);
    policy_base.state.contended.assign(kBandKinds, true);
  }
  Job& submit(JobSpec spec = {}, const Graph& graph = GraphBuilder{}.chain(2).keys({"a", "b"}).build()) {
    supervisor_event::GraphChecked checked{ClientId{1}, 1, std::move(spec), shape_of(graph), {}};
    const JobId id = tables.jobs.next();
    lifecycle.acceptance.submit(checked);
    policy_base.state.due = kNever;
    records<record::JobAccepted>();
    return tables.jobs[id];
  }
  /// The number of such records since the last call; forgets all others.
  template <class Wanted>
  std::size_t records() {
    std::size_t count = 0;
    ledger.gate.commit(true);
    for (const SupervisorAction& action : out)
      if (const auto* persist = std::get_if<supervisor_action::Persist>(&action))
        for (const Record& record : persist->records) count += std::holds_alternative<Wanted>(record) ? 1 : 0;
    out.clear();
    return count;
  }
  /// The number of questions to workers since the last call.
  std::size_t questions() {
    fleet.mail.flush();
    std::size_t count = 0;
    for (const SupervisorAction& action : out)
      if (const auto* sent = std::get_if<supervisor_action::SendToWorker>(&action))
        count += std::holds_alternative<ExplainQuestion>(sent->message) ? 1 : 0;
    out.clear();
    return count;
  }
  bool pass_is_due() const { return policy_base.state.due != kNever; }

  const Durability durability;
  SupervisorConfig config{};
  EventContext event{};
  Actions<SupervisorAction> out{};
  Ledger ledger{config, event, durability};
  Fleet fleet{config, event, ledger};
  JobTables tables{config, Rng{1}};
  Outputs outputs{config, event, ledger, fleet, tables};
  PolicyBase policy_base{config, event, ledger, fleet, tables};
  Placement placement{config, event, ledger, fleet, tables, outputs, policy_base};
  PolicyDriver driver{event, ledger, fleet, tables, policy_base, placement};
  Runs runs{config, event, fleet, tables, outputs, policy_base, placement, driver};
  Lifecycle lifecycle{config, event, ledger, fleet, tables, outputs, policy_base, placement, driver, runs};
  Admin admin{config, event, ledger, fleet, tables, policy_base, placement, driver, runs};
};

TEST(OperatorOrders, AHoldThatChangesSomethingIsWrittenAndMakesAPassDue) {
  OrderRooms rooms{"priority"};
  const Job& job = rooms.submit();
  EXPECT_EQ(rooms.admin.orders.hold_by_request(order("hold", {"job-1"})).value()["was"], Value{false});
  EXPECT_TRUE(job.status.on_hold);
  EXPECT_EQ(rooms.records<record::JobChanged>(), 1U);
  EXPECT_TRUE(rooms.pass_is_due());
  EXPECT_EQ(rooms.admin.orders.hold_by_request(order("hold", {"job-1"})).value()["was"], Value{true});
  EXPECT_EQ(rooms.records<record::JobChanged>(), 0U);
  EXPECT_EQ(rooms.admin.orders.hold_by_request(order("release", {"job-1"})).value()["was"], Value{true});
  EXPECT_FALSE(job.status.on_hold);
}

TEST(OperatorOrders, AnOrderThatIsRefusedChangesNothing) {
  OrderRooms rooms{"priority"};
  const Job& job = rooms.submit({.policy = {.gang = 4}});
  const JobSpec before = job.spec;
  for (const auto& [what, whose, value] : {std::array{"cap", "job-1", "few"},
                                           {"cap", "job-1", "3"},
                                           {"weight", "job-1", "-1"},
                                           {"weight", "job-9", "1"},
                                           {"qos", "job-1", "golden"},
                                           {"queue", "job-1", "fast"},
                                           {"user-factor", "job-1", "2"},
                                           {"colour", "job-1", "1"},
                                           {"quota", "vision", "some"},
                                           {"quota", "hearing", "3"},
                                           {"shares", "nobody", "3"}}) {
    EXPECT_FALSE(rooms.admin.orders.set_by_request(order("set", {what, whose, value})).has_value()) << what << value;
    EXPECT_TRUE(job.spec == before) << what;
    EXPECT_FALSE(rooms.pass_is_due()) << what;
  }
  EXPECT_FALSE(rooms.admin.orders.cancel_by_request(order("cancel", {"job-1", "--kill-after-ms=soon"})).has_value());
  EXPECT_FALSE(job.status.cancelling);
  EXPECT_EQ(rooms.records<record::JobChanged>(), 0U);
  EXPECT_EQ(rooms.admin.orders.set_by_request(order("set", {"cap", "job-1", "4"})).value()["was"], Value{});
  EXPECT_EQ(rooms.admin.orders.set_by_request(order("set", {"cap", "job-1", "none"})).value()["was"], Value{4});
  EXPECT_EQ(rooms.admin.orders.set_by_request(order("set", {"quota", "vision", "3"})).value()["was"], Value{0});
  EXPECT_EQ(rooms.policy_base.state.config.projects[0].guaranteed_slots, 3);
  EXPECT_TRUE(rooms.pass_is_due());
}

TEST(OperatorOrders, AnOrderThatWouldHaveNoEffectUnderThePolicyIsRefused) {
  OrderRooms without{""};
  const Job& alone = without.submit();
  EXPECT_EQ(without.admin.orders.hold_by_request(order("hold", {"job-1"})).error().code, ErrorCode::WrongState);
  EXPECT_EQ(without.admin.orders.set_by_request(order("set", {"cap", "job-1", "1"})).error().code,
            ErrorCode::WrongState);
  EXPECT_EQ(without.admin.orders.priority_by_request(order("priority", {"job-1", "5"})).value()["was"], Value{0});
  EXPECT_EQ(alone.spec.priority, 5);
  OrderRooms shared{"fair_share"};
  const Job& job = shared.submit();
  shared.submit();
  EXPECT_EQ(shared.admin.orders.move_by_request(order("move", {"job-2", "ahead-of", "job-1"})).error().code,
            ErrorCode::WrongState);
  EXPECT_EQ(shared.admin.orders.priority_by_request(order("priority", {"job-1", "5"})).error().code,
            ErrorCode::WrongState);
  EXPECT_EQ(job.spec.priority, 0);
}

// Found by a user's trial: nothing was said.
TEST(OperatorOrders, AWeightThatHasNoEffectIsTakenWithAWarning) {
  const std::pair<const char*, const char*> pools[] = {
      {"priority", "weight of job-1 has no effect: pool 'all' does not divide its slots by weights (sharing)"},
      {"multifactor", "weight of job-1 has no effect: pool 'all' does not divide its slots by weights (sharing)"},
      {"quota",
       "weight of job-1 has no effect: pool 'all' divides its slots among projects, not among jobs; `set "
       "project-weight` counts"},
      {"fair_share", ""},
      {"fair_share_max_min", ""}};
  for (const auto& [preset, warning] : pools) {
    OrderRooms rooms{preset};
    const Job& job = rooms.submit();
    const Value answer = rooms.admin.orders.set_by_request(order("set", {"weight", "job-1", "7"})).value();
    EXPECT_EQ(job.spec.policy.weight, 7000U) << preset;
    EXPECT_EQ(answer["weight"], Value{7.0}) << preset;
    EXPECT_EQ(answer["warnings"], *warning == '\0' ? Value{} : Value{Value::List{Value{warning}}}) << preset;
    EXPECT_TRUE(rooms.admin.orders.set_by_request(order("set", {"cap", "job-1", "4"})).value()["warnings"].is_null());
  }
}

TEST(OperatorOrders, AJobIsMovedBetweenItsNewNeighboursAndTakesThePriorityOfTheOther) {
  OrderRooms rooms{"priority"};
  const Job& first = rooms.submit();
  const Job& high = rooms.submit({.priority = 5});
  const Job& third = rooms.submit();
  const Job& last = rooms.submit();
  const Value moved = rooms.admin.orders.move_by_request(order("move", {"job-4", "ahead-of", "job-3"})).value();
  EXPECT_LT(first.shares->position, last.shares->position);
  EXPECT_LT(last.shares->position, third.shares->position);
  EXPECT_EQ(moved["place"], Value{"number 2 of 3 of priority 0 in pool 'all'"});
  EXPECT_EQ(moved["was"], Value{"number 3 of 3 of priority 0 in pool 'all'"});
  EXPECT_EQ(rooms.records<record::JobChanged>(), 1U);
  EXPECT_TRUE(rooms.admin.orders.move_by_request(order("move", {"job-4", "ahead-of", "job-3"})).has_value());
  EXPECT_EQ(rooms.records<record::JobChanged>(), 0U) << "the job is there already";
  EXPECT_EQ(rooms.admin.orders.move_by_request(order("move", {"job-3", "behind", "job-2"})).value()["position"],
            Value{2});
  EXPECT_EQ(third.spec.priority, 5);
  EXPECT_GT(third.shares->position, high.shares->position);
}

TEST(OperatorOrders, AJobThatIsMovedBehindItsNeighbourOfHigherPriorityTakesThat) {
  OrderRooms rooms{"priority"};
  const Job& high = rooms.submit({.priority = 5});
  const Job& low = rooms.submit();
  EXPECT_TRUE(rooms.admin.orders.move_by_request(order("move", {"job-2", "behind", "job-1"})).has_value());
  EXPECT_EQ(low.spec.priority, 5);
  EXPECT_GT(low.shares->position, high.shares->position);
  EXPECT_EQ(rooms.records<record::JobChanged>(), 2U) << "the priority, and the position";
}

TEST(OperatorOrders, ACancelOfASubtaskTakesItsSuccessorsAndIsWritten) {
  OrderRooms rooms{""};
  const Job& job = rooms.submit();
  EXPECT_FALSE(rooms.admin.orders.cancel_by_request(order("cancel", {"job-1", "c"})).has_value());
  EXPECT_EQ(rooms.records<record::SubtaskChanged>(), 0U);
  EXPECT_EQ(rooms.admin.orders.cancel_by_request(order("cancel", {"job-1", "a"})).value()["cancelled"], Value{true});
  for (const std::uint32_t subtask : {0U, 1U}) EXPECT_EQ(job.hot[subtask].phase, SubtaskPhase::Cancelled) << subtask;
  EXPECT_TRUE(job.extras.cancel_orders->contains(SubtaskIndex{0}));
  EXPECT_FALSE(job.extras.cancel_orders->contains(SubtaskIndex{1}));
  EXPECT_EQ(rooms.records<record::SubtaskChanged>(), 1U);
  PENSTOCK_EXPECT_COVERAGE_MARK(
      "a subtask that had ended without success was cancelled",
      EXPECT_EQ(rooms.admin.orders.cancel_by_request(order("cancel", {"job-1", "b"})).value()["cancelled"],
                Value{false}));
  EXPECT_EQ(rooms.records<record::SubtaskChanged>(), 1U) << "the end of the subtask may not be written yet";
}

TEST(OperatorOrders, AnAnswerWaitsForWorkersThatHaveToSaySomething) {
  constexpr ClientId kOperator{9};
  OrderRooms rooms{"", Durability::None};
  Job& job = rooms.submit();
  const AdminRequest cancel = order("cancel", {"job-1"});
  const Value answer = Value::Record{{"job", "job-1"}, {"cancelled", true}};
  bool deferred = false;
  EXPECT_TRUE(rooms.admin.orders.explain_by_request(kOperator, order("explain", {"job-1:a"}), deferred).has_value());
  EXPECT_FALSE(deferred) << "no worker has the subtask";
  EXPECT_FALSE(rooms.admin.orders.await_confirmations(kOperator, cancel, answer));
  Register description;
  description.name = "worker-1";
  description.bands.emplace_back().capacity.slots = kOneSlot;
  rooms.fleet.workers.add(WorkerId{1}, Incarnation{1}, description);
  rooms.lifecycle.waits.place_all_unschedulable();
  rooms.placement.dispatcher.fill_dirty_bands();
  EXPECT_TRUE(rooms.admin.orders.explain_by_request(kOperator, order("explain", {"job-1:a"}), deferred).has_value());
  EXPECT_TRUE(deferred);
  EXPECT_EQ(rooms.questions(), 1U);
  EXPECT_TRUE(rooms.admin.orders.await_confirmations(kOperator, cancel, answer));
  EXPECT_EQ(rooms.questions(), 1U);
  job.status.recovering = true;
  EXPECT_TRUE(rooms.admin.orders.await_confirmations(kOperator, cancel, answer));
  EXPECT_EQ(rooms.questions(), 0U) << "workers of before the restart are asked when they are back";
}

}  // namespace
}  // namespace penstock::supervisor
