#include "supervisor/actors/journal_actor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "common/loop/actor_host.hpp"
#include "supervisor/store/journal.hpp"
#include "tests/support/fault_storage.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock::supervisor {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};

/// A disk that all incarnations share; its commits can be held up.
class SharedDisk : public Storage {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override { return disk_.get(key); }
  Result<void> scan(std::string_view prefix, const ScanVisit& visit) override { return disk_.scan(prefix, visit); }
  Result<void> commit(const StorageBatch& batch, Sync sync) override {
    std::unique_lock lock{mutex_};
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    ++commits_;
    return disk_.commit(batch, sync);
  }
  Result<void> close() override { return {}; }

  void hold() {
    const std::lock_guard lock{mutex_};
    open_ = false;
  }
  void let_go() {
    const std::lock_guard lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }
  bool wait_for_commit() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, kPatience, [this] { return waiting_ > 0; });
  }
  void fail_with(std::optional<Error> error) {
    const std::lock_guard lock{mutex_};
    disk_.fail_with(std::move(error));
  }
  int commits() {
    const std::lock_guard lock{mutex_};
    return commits_;
  }

 private:
  std::mutex mutex_;  // Guards everything.
  std::condition_variable changed_;
  FaultStorage disk_;
  bool open_ = true;
  int waiting_ = 0;
  int commits_ = 0;
};

/// Hands a disk that outlives the journal to it.
class Borrowed : public Storage {
 public:
  explicit Borrowed(Storage& storage) : storage_(storage) {}
  Result<std::optional<std::string>> get(std::string_view key) override { return storage_.get(key); }
  Result<void> scan(std::string_view prefix, const ScanVisit& visit) override { return storage_.scan(prefix, visit); }
  Result<void> commit(const StorageBatch& batch, Sync sync) override { return storage_.commit(batch, sync); }
  Result<void> close() override { return storage_.close(); }

 private:
  Storage& storage_;
};

supervisor_action::Persist accept(std::uint32_t job, std::uint64_t ticket, const Graph& graph) {
  JobSpec spec;
  spec.name = "job-" + std::to_string(job);
  supervisor_action::Persist order;
  order.ticket = ticket;
  order.records.push_back(record::JobAccepted{JobId{job}, spec, &graph});
  return order;
}

supervisor_action::Persist forget(std::uint32_t job, std::uint64_t ticket) {
  supervisor_action::Persist order;
  order.ticket = ticket;
  order.records.push_back(record::JobForgotten{JobId{job}});
  return order;
}

struct Heard {
  std::uint64_t ticket = 0;
  std::optional<Error> error;
  std::optional<caf::error> end;
};

caf::behavior owner_behavior(caf::event_based_actor* self, const JournalSetup& setup, JournalActor* journal,
                             Heard* heard) {
  *journal = spawn_journal(*self, setup);
  self->set_down_handler([heard](const caf::down_msg& down) { heard->end = down.reason; });
  return {[heard](const JournalMail& mail) {
    heard->ticket = std::max(heard->ticket, mail.ticket);
    if (mail.error != nullptr) heard->error = *mail.error;
  }};
}

class JournalActorTest : public testing::Test {
 protected:
  ~JournalActorTest() override { end(); }
  void open(std::function<Result<void>()> may_report = {}) {
    owner_ = actors_.system().spawn(
        owner_behavior, JournalSetup{std::make_shared<Borrowed>(disk_), 1, std::move(may_report)}, &journal_, &heard_);
    ASSERT_TRUE(turn_until(loop_, [&] { return static_cast<bool>(journal_); }));
  }
  void write(supervisor_action::Persist order) { caf::anon_send(journal_, std::move(order)); }
  void end() {
    end_journal(actors_.system(), journal_);
    end_actor(owner_);
  }
  bool wait_for(std::uint64_t ticket) {
    return turn_until(loop_, [&] { return heard_.ticket >= ticket; });
  }
  std::vector<JobId> jobs_of_next_life() {
    const Result<Recovered> recovered = recover(disk_, Damage::Refuse);
    std::vector<JobId> jobs;
    for (const auto& job : recovered.value().state.jobs) jobs.push_back(job.id);
    return jobs;
  }

  SharedDisk disk_;
  const Graph graph_ = GraphBuilder{}.chain(3).build();
  Heard heard_;  // Actors write to it until their system ends.
  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  JournalActor journal_;
  caf::actor owner_;
};

using Jobs = std::vector<JobId>;

TEST_F(JournalActorTest, WhatIsPersistedIsThereInTheNextLife) {
  open();
  {
    const Graph graph = GraphBuilder{}.chain(3).build();
    write(accept(1, 1, graph));
    ASSERT_TRUE(wait_for(1));
  }  // The graph may go as soon as it is known to be written.
  end();
  const Result<Recovered> recovered = recover(disk_, Damage::Refuse);
  ASSERT_TRUE(recovered.has_value());
  ASSERT_EQ(recovered->state.jobs.size(), 1U);
  EXPECT_EQ(recovered->state.graphs.at(0).chunks.at(0).size(), 3U);
}

// Fault F14: while one commit takes long, all others gather for the next.
TEST_F(JournalActorTest, WhatWaitsIsWrittenTogether) {
  open();
  disk_.hold();
  write(accept(1, 1, graph_));
  ASSERT_TRUE(disk_.wait_for_commit());
  for (std::uint32_t i = 2; i <= 50; ++i) write(accept(i, i, graph_));
  disk_.let_go();
  ASSERT_TRUE(wait_for(50));
  EXPECT_EQ(disk_.commits(), 2);
}

// Fault F11.
TEST_F(JournalActorTest, WhatCouldNotBeWrittenIsTriedAgainWithWhatCameSince) {
  disk_.fail_with(Error{ErrorCode::StorageFull, "disk", "is full", {}});
  open();
  write(accept(1, 1, graph_));
  write(accept(2, 2, graph_));
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.error.has_value(); }));
  write(forget(1, 3));
  disk_.fail_with(std::nullopt);
  caf::anon_send(journal_, RetryMail{});
  ASSERT_TRUE(wait_for(3));
  EXPECT_EQ(jobs_of_next_life(), Jobs{JobId{2}});
}

TEST_F(JournalActorTest, AnExitComesAfterAllThatWaits) {
  open();
  disk_.hold();
  write(accept(1, 1, graph_));
  ASSERT_TRUE(disk_.wait_for_commit());
  write(accept(2, 2, graph_));
  write(accept(3, 3, graph_));
  caf::anon_send_exit(journal_, caf::exit_reason::user_shutdown);
  disk_.let_go();
  end();
  EXPECT_EQ(jobs_of_next_life(), (Jobs{JobId{1}, JobId{2}, JobId{3}}));
  EXPECT_EQ(disk_.commits(), 2);
}

TEST_F(JournalActorTest, ADiskThatIsInTroubleIsTriedOnceMoreAtTheEnd) {
  disk_.fail_with(Error{ErrorCode::Internal, "disk", "is broken", {}});
  open();
  write(accept(1, 1, graph_));
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.error.has_value(); }));
  EXPECT_EQ(disk_.commits(), 1);
  end();
  EXPECT_EQ(disk_.commits(), 2);
}

TEST_F(JournalActorTest, NothingIsReportedOfAStateThatHasAnotherHolder) {
  open([]() -> Result<void> { return Error{ErrorCode::StorageLocked, "state", "has another holder", {}}; });
  write(accept(1, 1, graph_));
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.end.has_value(); }));
  EXPECT_FALSE(*heard_.end) << "an end that the owner need not judge";
  EXPECT_EQ(heard_.ticket, 0U);
}

TEST_F(JournalActorTest, ItsFailureIsToldToItsOwnerWithTheCause) {
  open([]() -> Result<void> { throw std::bad_alloc{}; });  // tidy: allow call: a library's exception
  write(accept(1, 1, graph_));
  ASSERT_TRUE(turn_until(loop_, [&] { return heard_.end.has_value(); }));
  EXPECT_NE(actors_.system().render(*heard_.end).find("bad_alloc"), std::string::npos);
}

}  // namespace
}  // namespace penstock::supervisor
