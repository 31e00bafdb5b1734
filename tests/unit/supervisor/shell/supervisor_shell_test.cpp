// The shell between a core that notes its events and a world that notes what is done.
#include "supervisor/shell/supervisor_shell.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace penstock::supervisor {
namespace {

using Story = std::vector<std::string>;

/// Orders for each event what the test has prepared.
class ScriptedOrders {
 public:
  explicit ScriptedOrders(Story& story) : story_(story) {}
  void handle(SupervisorEvent&& event, Instant, Actions<SupervisorAction>& actions) {
    story_.push_back(name_of(event));
    if (next.empty()) return;
    next.front()(actions);
    next.pop_front();
  }
  std::optional<Instant> next_deadline() const { return deadline; }

  std::deque<std::function<void(Actions<SupervisorAction>&)>> next;
  std::optional<Instant> deadline;

 private:
  static std::string name_of(const SupervisorEvent& event) {
    if (const auto* joined = std::get_if<supervisor_event::WorkerJoined>(&event))
      return "joined " + std::to_string(joined->worker.value());
    if (const auto* said = std::get_if<supervisor_event::WorkersSaid>(&event))
      return "said " + std::to_string(said->said.size());
    if (const auto* lost = std::get_if<supervisor_event::WorkerLost>(&event))
      return "lost " + std::to_string(lost->worker.value());
    if (const auto* suspected = std::get_if<supervisor_event::WorkerSuspected>(&event))
      return (suspected->suspected ? "suspected " : "trusted ") + std::to_string(suspected->worker.value());
    if (const auto* client = std::get_if<supervisor_event::ClientSaid>(&event))
      return "client " + std::to_string(client->client.value());
    if (const auto* gone = std::get_if<supervisor_event::ClientGone>(&event))
      return "gone " + std::to_string(gone->client.value());
    if (const auto* graph = std::get_if<supervisor_event::GraphChecked>(&event))
      return "graph of " + std::to_string(graph->client.value());
    if (const auto* read = std::get_if<supervisor_event::PolicyRead>(&event))
      return read->config ? "policy" : "no policy";
    if (std::holds_alternative<supervisor_event::StateRecovered>(event)) return "recovered";
    return std::holds_alternative<supervisor_event::Tick>(event) ? "tick" : "other";
  }

  Story& story_;
};

class NotedWorld {
 public:
  using Mail = std::shared_ptr<const FromWorker>;
  explicit NotedWorld(Story& noted) : story(noted) {}
  static Instant now() { return instant_at(std::chrono::seconds{1}); }
  static JobIdentity draw_identity() { return {1, 2}; }
  void joined(Incarnation worker, WorkerId, const Register&) { note("route of", worker); }
  void send(Incarnation worker, const std::vector<ToWorker>& messages) {
    note(std::to_string(messages.size()) + " to", worker);
  }
  void send_to_client(Incarnation client, const std::vector<ToClient>& messages) {
    note(std::to_string(messages.size()) + " to client", client);
  }
  void dismiss(Incarnation worker) { note("dismiss", worker); }
  void write(const supervisor_action::Persist& order) { story.push_back("write " + std::to_string(order.ticket)); }
  void run_pass(const supervisor_action::RunPass&) { story.emplace_back("pass"); }
  Result<PolicyConfig> read_policy() {
    story.emplace_back("read");
    return PolicyConfig{};
  }
  void alert(const Error&) { story.emplace_back("alert"); }
  void arm(std::optional<Instant> at) { story.emplace_back(at ? "arm" : "disarm"); }

  Story& story;

 private:
  void note(const std::string& what, Incarnation who) { story.push_back(what + " " + std::to_string(who.value())); }
};

class SupervisorShellTest : public ::testing::Test {
 protected:
  void receive(std::uint64_t life, const FromWorker& message, bool more = false) {
    auto owner = std::make_shared<const FromWorker>(message);
    const std::span<const FromWorker> messages{owner.get(), 1};
    shell_.receive(Incarnation{life}, messages, owner, more);
  }
  void join(std::uint64_t life) {
    receive(life, Register{});
    story_.clear();
  }
  static supervisor_action::SendToWorker to_worker(std::uint32_t number) {
    return {WorkerId{number}, ToWorker{Drain{}}};
  }
  Story take() { return std::exchange(story_, {}); }

  Story story_;
  ScriptedOrders core_{story_};
  NotedWorld world_{story_};
  SupervisorShell<NotedWorld, ScriptedOrders> shell_{core_, world_, 3};
};

TEST_F(SupervisorShellTest, AWorkerGetsItsNumberWhenItRegistersAndIsNotHeardBefore) {
  receive(7, DrainState{});
  EXPECT_EQ(take(), Story{});
  receive(7, Register{});
  EXPECT_EQ(take(), (Story{"route of 7", "joined 1"}));
  receive(7, DrainState{});
  EXPECT_EQ(take(), Story{"said 1"});
}

TEST_F(SupervisorShellTest, MessagesOfWorkersAreOneEventUpToTheLimitAndComeBeforeOtherNews) {
  join(7);
  receive(7, DrainState{}, true);
  receive(7, DrainState{}, true);
  EXPECT_EQ(take(), Story{});
  receive(7, DrainState{}, true);
  EXPECT_EQ(take(), Story{"said 3"});
  receive(7, DrainState{}, true);
  shell_.tick();
  EXPECT_EQ(take(), (Story{"said 1", "tick"}));
  receive(7, DrainState{}, true);
  shell_.settle();
  EXPECT_EQ(take(), Story{"said 1"});
}

TEST_F(SupervisorShellTest, WhatIsSentToAPeerLeavesTogetherBehindWhatIsWritten) {
  join(7);
  core_.next.emplace_back([](Actions<SupervisorAction>& actions) {
    actions.add(to_worker(1));
    actions.add(supervisor_action::Persist{{}, 4});
    actions.add(to_worker(1));
  });
  shell_.handle(supervisor_event::Persisted{3});
  EXPECT_EQ(take(), (Story{"other", "write 4", "2 to 7"}));
}

TEST_F(SupervisorShellTest, NothingIsSentToAWorkerThatIsLostOrReleased) {
  join(7);
  join(8);
  core_.next.emplace_back([](Actions<SupervisorAction>& actions) { actions.add(to_worker(1)); });
  shell_.worker_lost(Incarnation{7}, "silent");
  EXPECT_EQ(take(), Story{"lost 1"});
  core_.next.emplace_back([](Actions<SupervisorAction>& actions) {
    actions.add(to_worker(2));
    actions.add(supervisor_action::ReleaseWorker{WorkerId{2}});
  });
  shell_.tick();
  EXPECT_EQ(take(), (Story{"tick", "dismiss 8"}));
  receive(8, DrainState{});
  shell_.worker_suspected(Incarnation{8}, true);
  shell_.worker_lost(Incarnation{8}, "unknown");
  EXPECT_EQ(take(), Story{});
}

TEST_F(SupervisorShellTest, AWorkerOfBeforeTheRestartIsNamedAsBefore) {
  RecoveredState state;
  state.next_worker = WorkerId{5};
  record::WorkerJoined before;
  before.worker = WorkerId{3};
  before.incarnation = Incarnation{7};
  state.workers.push_back(before);
  shell_.recovered(std::move(state), 0, 2);
  EXPECT_EQ(take(), Story{"recovered"});
  receive(8, Register{});
  receive(7, Register{});
  EXPECT_EQ(take(), (Story{"route of 8", "joined 5", "route of 7", "joined 3"}));
}

TEST_F(SupervisorShellTest, AClientGetsItsNumberWithItsFirstWordsAndLosesItWithItsLink) {
  shell_.client_lost(Incarnation{9});
  core_.next.emplace_back([](Actions<SupervisorAction>& actions) {
    actions.add(supervisor_action::SendToClient{ClientId{1}, ToClient{SubmitReply{}}});
  });
  shell_.client_said(Incarnation{9}, AdminRequest{});
  shell_.graph_checked(Incarnation{9}, {});
  EXPECT_EQ(take(), (Story{"client 1", "graph of 1"}));
  shell_.settle();
  EXPECT_EQ(take(), Story{"1 to client 9"});
  shell_.client_lost(Incarnation{9});
  EXPECT_EQ(take(), Story{"gone 1"});
}

TEST_F(SupervisorShellTest, APolicyIsReadBehindTheOrdersOfTheEventThatWantsIt) {
  core_.next.emplace_back([](Actions<SupervisorAction>& actions) {
    actions.add(supervisor_action::ReloadPolicy{});
    actions.add(supervisor_action::Persist{{}, 1});
  });
  core_.next.emplace_back([](Actions<SupervisorAction>& actions) { actions.add(supervisor_action::Persist{{}, 2}); });
  shell_.client_said(Incarnation{9}, AdminRequest{});
  shell_.settle();
  EXPECT_EQ(take(), (Story{"client 1", "write 1", "read", "policy", "write 2"}));
  shell_.reload({});
  EXPECT_EQ(take(), (Story{"read", "policy"}));
}

TEST_F(SupervisorShellTest, TheTimerMovesOnlyForAnEarlierTickAndIsStoppedWhenThereIsNone) {
  core_.deadline = instant_at(std::chrono::seconds{5});
  shell_.settle();
  EXPECT_EQ(take(), Story{"arm"});
  core_.deadline = instant_at(std::chrono::seconds{6});
  shell_.settle();
  EXPECT_EQ(take(), Story{});
  core_.deadline = instant_at(std::chrono::seconds{4});
  shell_.settle();
  EXPECT_EQ(take(), Story{"arm"});
  shell_.tick();
  EXPECT_EQ(take(), (Story{"tick", "arm"}));
  core_.deadline.reset();
  shell_.settle();
  shell_.settle();
  EXPECT_EQ(take(), Story{"disarm"});
}

}  // namespace
}  // namespace penstock::supervisor
