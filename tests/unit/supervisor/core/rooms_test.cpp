#include "supervisor/core/rooms.hpp"

#include <gtest/gtest.h>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

/// All rooms of a supervisor, without the core that leads events through them.
struct AllRooms {
  explicit AllRooms(Durability with) : durability(with) {
    event.now = instant_at(1000s);
    event.out = &out;
  }
  void join(std::uint32_t number) {
    Register description;
    description.name = "worker-" + std::to_string(number);
    description.bands.emplace_back().capacity.slots = kOneSlot;
    fleet.workers.add(WorkerId{number}, Incarnation{number}, description);
  }
  JobId submit() {
    supervisor_event::GraphChecked checked;
    checked.client = ClientId{1};
    checked.submission = 1;
    checked.shape = shape_of(GraphBuilder{}.add().build());
    lifecycle.acceptance.submit(checked);
    return JobId{tables.jobs.next().value() - 1};
  }
  /// The number of such messages to clients since the last call; forgets all other actions.
  template <class Message>
  std::size_t told() {
    std::size_t count = 0;
    for (const SupervisorAction& action : out)
      if (const auto* word = std::get_if<supervisor_action::SendToClient>(&action))
        count += std::holds_alternative<Message>(word->message) ? 1 : 0;
    out.clear();
    return count;
  }

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

TEST(Rooms, AJobGoesThroughAllRoomsByTheirSharedTables) {
  AllRooms rooms{Durability::None};
  rooms.join(1);
  Job& job = rooms.tables.jobs[rooms.submit()];
  EXPECT_EQ(rooms.fleet.workers[BandSlot{0}].ready_here, 1U);
  EXPECT_EQ(rooms.tables.watchdog.look_at(), later(rooms.event.now, rooms.config.watchdog_after));
  rooms.placement.dispatcher.fill_dirty_bands();
  EXPECT_EQ(rooms.fleet.workers[BandSlot{0}].in_flight, 1U);
  EXPECT_EQ(rooms.tables.counters.assigned, 1U);
  EXPECT_EQ((*rooms.admin.cluster_answers.describe_workers().list())[0]["assigned"], Value{1});
  AttemptReport report;
  report.subtask = SubtaskIndex{0};
  report.attempt = Attempt{job.hot[0].attempt};
  report.band = BandIndex{0};
  rooms.runs.reports.apply(WorkerSlot{0}, job, JobReports{job.id, {report}, {}, {}, {}});
  EXPECT_EQ(rooms.tables.maybe_done, std::vector{job.id});
  rooms.out.clear();
  rooms.lifecycle.releases.finish_if_done(job);
  EXPECT_EQ(job.status.state, JobState::Succeeded);
  EXPECT_EQ(rooms.told<JobProgress>(), 1U);
  EXPECT_EQ(rooms.tables.watchdog.look_at(), kNever);
  const AdminRequest all{1, "jobs", {"--all"}, {}};
  EXPECT_EQ((*rooms.admin.cluster_answers.list_jobs(all).value().list())[0]["state"], Value{"succeeded"});
}

TEST(Rooms, WithAJournalAReplyLeavesWhenItsRecordIsOnTheDisk) {
  AllRooms rooms{Durability::Journal};
  const JobId job = rooms.submit();
  EXPECT_TRUE(rooms.tables.jobs[job].status.waiting_for_disk);
  EXPECT_FALSE(rooms.ledger.accepting.take_written().has_value());
  rooms.ledger.gate.commit(true);
  EXPECT_EQ(rooms.told<SubmitReply>(), 0U);
  rooms.ledger.gate.persisted(1);
  EXPECT_EQ(rooms.told<SubmitReply>(), 1U);
  EXPECT_EQ(rooms.ledger.accepting.take_written(), job);
  ASSERT_TRUE(rooms.ledger.being_written.take_written().has_value());
  AllRooms without{Durability::None};
  without.submit();
  EXPECT_EQ(without.told<SubmitReply>(), 1U);
}

TEST(Rooms, GraphsThatNoJobUsesAreKeptInAnEighthOfTheMemory) {
  const auto kept = [](Bytes memory_max, std::int64_t cached_max) {
    SupervisorConfig limited;
    limited.memory_max = memory_max;
    limited.cached_graph_bytes_max = cached_max;
    JobTables of_limits{limited, Rng{1}};
    of_limits.graphs.leave(of_limits.graphs.add(shape_of(GraphBuilder{}.sources(1000).build())));
    return of_limits.graphs.idle_count();
  };
  const SupervisorConfig config;
  JobTables tables{config, Rng{1}};
  const auto bytes = static_cast<std::int64_t>(tables.graphs.add(shape_of(GraphBuilder{}.sources(1000).build())).bytes);
  EXPECT_EQ(kept(Bytes{bytes * 8}, bytes), 1U);
  EXPECT_EQ(kept(Bytes{bytes * 8 - 1}, bytes), 0U) << "seven eighths are for what is wanted";
  EXPECT_EQ(kept(Bytes{bytes * 100}, bytes - 1), 0U) << "the own limit of kept graphs holds, too";
  EXPECT_EQ(kept(Bytes{0}, bytes), 1U) << "without a limit of the memory";
}

}  // namespace
}  // namespace penstock::supervisor
