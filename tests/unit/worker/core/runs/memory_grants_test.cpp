#include "worker/core/runs/memory_grants.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

TEST(MemoryGrants, AGrantIsTheRequestUntilEnoughRunsWereSeen) {
  WorkerParts parts{WorkerConfig{.quota_peaks_min = 2}};
  parts.program.request.memory = Bytes{400};
  const RecordIndex index = parts.run(0);
  const WorkerTemplate& program = *parts.record(index).program;
  RunEnd end = parts.end_of(index);
  end.peak = Bytes{100};
  parts.runs.grants.run_ended(program, end);
  EXPECT_EQ(parts.runs.grants.amount_for(program), Bytes{400});
  parts.runs.grants.run_ended(program, end);
  EXPECT_EQ(parts.runs.grants.amount_for(program), Bytes{125}) << "with a margin of a quarter";
  EXPECT_EQ(parts.runs.grants.request_of(parts.record(index), index).bytes, Bytes{125});
}

TEST(MemoryGrants, ARunThatUsesMoreHoldsMore) {
  WorkerParts parts;
  parts.program.request.memory = Bytes{400};
  const RecordIndex index = parts.run(0);
  parts.band().quota.shrink(index, Bytes{100});
  const RunMemory small{index, Attempt{1}, Bytes{90}};
  const RunMemory large{index, Attempt{1}, Bytes{900}};
  const RunMemory stale{index, Attempt{2}, Bytes{300}};
  parts.runs.grants.measured({{&small, 1}});
  parts.runs.grants.measured({{&stale, 1}});
  EXPECT_EQ(parts.band().quota.granted_to(index), Bytes{100});
  parts.runs.grants.measured({{&large, 1}});
  EXPECT_EQ(parts.band().quota.granted_to(index), Bytes{400}) << "never more than its request";
  EXPECT_EQ(parts.tables.counters.grown, 1U);
}

}  // namespace
}  // namespace penstock::worker
