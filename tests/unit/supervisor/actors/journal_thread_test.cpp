#include "supervisor/actors/journal_thread.hpp"

#include <gtest/gtest.h>

#include "common/storage/fault_storage.hpp"
#include "supervisor/store/journal.hpp"
#include "tests/support/graph_builder.hpp"

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

/// Hands a disk that outlives the thread to it.
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

/// The answers of the thread, and a way to wait for it.
class Ear {
 public:
  JournalHandlers handlers() {
    return {[this](std::uint64_t ticket) {
              const std::lock_guard lock{mutex_};
              ticket_ = ticket;
              changed_.notify_all();
            },
            [this](const Error& error) {
              const std::lock_guard lock{mutex_};
              error_ = error;
              changed_.notify_all();
            }};
  }
  bool wait_for(std::uint64_t ticket) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, kPatience, [&] { return ticket_ >= ticket; });
  }
  bool wait_for_error() {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, kPatience, [&] { return !error_.message.empty(); });
  }

 private:
  std::mutex mutex_;  // Guards everything.
  std::condition_variable changed_;
  std::uint64_t ticket_ = 0;
  Error error_;
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

TEST(JournalThread, WhatIsPersistedIsThereInTheNextLife) {
  SharedDisk disk;
  Ear ear;
  {
    JournalThread journal{std::make_unique<Borrowed>(disk), 1, ear.handlers()};
    {
      const Graph graph = GraphBuilder{}.chain(3).build();
      journal.write(accept(1, 1, graph));
      ASSERT_TRUE(ear.wait_for(1));
    }  // The graph may go as soon as it is known to be written.
  }
  const Result<Recovered> recovered = recover(disk, Damage::Refuse);
  ASSERT_TRUE(recovered.has_value());
  ASSERT_EQ(recovered->state.jobs.size(), 1U);
  EXPECT_EQ(recovered->state.graphs.at(0).chunks.at(0).size(), 3U);
}

// Fault F14: while one commit takes long, all others gather for the next.
TEST(JournalThread, WhatWaitsIsWrittenTogether) {
  SharedDisk disk;
  Ear ear;
  const Graph graph = GraphBuilder{}.chain(3).build();
  JournalThread journal{std::make_unique<Borrowed>(disk), 1, ear.handlers()};
  disk.hold();
  journal.write(accept(1, 1, graph));
  ASSERT_TRUE(disk.wait_for_commit());
  for (std::uint32_t i = 2; i <= 50; ++i) journal.write(accept(i, i, graph));
  disk.let_go();
  ASSERT_TRUE(ear.wait_for(50));
  EXPECT_EQ(disk.commits(), 2);
}

// Fault F11.
TEST(JournalThread, WhatCouldNotBeWrittenIsTriedAgainWithWhatCameSince) {
  SharedDisk disk;
  Ear ear;
  const Graph graph = GraphBuilder{}.chain(3).build();
  disk.fail_with(Error{ErrorCode::StorageFull, "disk", "is full", {}});
  JournalThread journal{std::make_unique<Borrowed>(disk), 1, ear.handlers(), std::chrono::milliseconds{1}};
  journal.write(accept(1, 1, graph));
  journal.write(accept(2, 2, graph));
  ASSERT_TRUE(ear.wait_for_error());
  journal.write(forget(1, 3));
  disk.fail_with(std::nullopt);
  ASSERT_TRUE(ear.wait_for(3));
  const Result<Recovered> recovered = recover(disk, Damage::Refuse);
  ASSERT_TRUE(recovered.has_value());
  ASSERT_EQ(recovered->state.jobs.size(), 1U);
  EXPECT_EQ(recovered->state.jobs[0].id, JobId{2});
}

TEST(JournalThread, ADiskThatIsInTroubleDoesNotHoldUpTheEnd) {
  SharedDisk disk;
  Ear ear;
  const Graph graph = GraphBuilder{}.chain(3).build();
  disk.fail_with(Error{ErrorCode::Internal, "disk", "is broken", {}});
  JournalThread journal{std::make_unique<Borrowed>(disk), 1, ear.handlers(), std::chrono::hours{1}};
  journal.write(accept(1, 1, graph));
  ASSERT_TRUE(ear.wait_for_error());
}

}  // namespace
}  // namespace penstock::supervisor
