#include "worker/core/orders/job_priorities.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

TEST(JobPriorities, ANewPriorityChangesTheOrderOfAllThatWaits) {
  WorkerParts parts;
  JobPriorities priorities{parts.tables, parts.bands};
  parts.run(0);
  const RecordIndex low = parts.run(1);
  const RecordIndex high = parts.run(2);
  EXPECT_EQ(parts.band().execute.first_waiting(), low);
  priorities.change({JobId{1}, false, 0, {{SubtaskIndex{2}, std::uint64_t{5} << 32U}, {SubtaskIndex{77}, 1}}});
  EXPECT_EQ(parts.band().execute.first_waiting(), high);
  EXPECT_TRUE(parts.band().dirty);
}

TEST(JobPriorities, ThePriorityOfAJobReachesBothQueuesAndTheQuota) {
  WorkerParts parts;
  JobPriorities priorities{parts.tables, parts.bands};
  parts.program.request.memory = Bytes{600};
  parts.run(0);
  const RecordIndex waits = parts.run(1);
  const JobSlot mine = std::exchange(parts.job, parts.tables.open_job(JobId{2}));
  const RecordIndex other = parts.run(0);
  EXPECT_EQ(parts.band().quota.head(), waits);
  priorities.set_of_job(parts.job, 5);
  EXPECT_EQ(parts.band().quota.head(), other);
  EXPECT_EQ(parts.context().priority, 5);
  EXPECT_EQ(parts.tables.jobs[mine].priority, 0);
}

}  // namespace
}  // namespace penstock::worker
