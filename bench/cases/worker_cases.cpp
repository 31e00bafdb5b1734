// Single parts of a worker's core.
#include <vector>

#include "bench/cases/cases.hpp"
#include "common/base/rng.hpp"
#include "worker/core/band/latched_queue.hpp"
#include "worker/core/band/memory_quota.hpp"
#include "worker/core/jobs/successor_table.hpp"
#include "worker/core/reports/report_buffer.hpp"

namespace penstock::bench {
namespace {

using namespace worker;

constexpr std::uint32_t kWaiting = 1000;

// Puts one item, ends one, starts the next: the path of an item through a queue of a thousand.
std::uint64_t cycle_queue(std::uint64_t count, Meter& meter, std::uint32_t jobs) {
  ResourceVector capacity;
  capacity.slots = kOneSlot * 4;
  ResourceVector request;
  request.slots = kOneSlot;
  LatchedQueue queue{capacity, LatchedQueue::Limits{}};
  Rng rng{7};
  std::vector<std::uint64_t> priorities(count + kWaiting);
  for (std::uint64_t& priority : priorities) priority = rng.below(1U << 20U);
  std::vector<RecordIndex> free;
  for (std::uint32_t i = kWaiting + 8; i > 0; --i) free.push_back(RecordIndex{i - 1});
  std::vector<Taken> taken;
  std::vector<Taken> running;
  std::uint64_t sequence = 0;
  const auto put = [&] {
    const std::uint64_t number = sequence++;
    const JobSlot job{static_cast<std::uint32_t>(number % jobs)};
    queue.put(QueueItem{free.back(), job, priorities[number], number, &request, Bytes{0}});
    free.pop_back();
  };
  while (sequence < kWaiting) put();
  queue.take(running);
  meter.resume();
  for (std::uint64_t i = 0; i < count; ++i) {
    put();
    const RecordIndex ended = running[i % 4].record;
    queue.remove(ended);
    free.push_back(ended);
    taken.clear();
    queue.take(taken);
    running[i % 4] = taken.front();
  }
  meter.pause();
  return count;
}

std::uint64_t queue_one_job(std::uint64_t count, Meter& meter) { return cycle_queue(count, meter, 1); }
std::uint64_t queue_many_jobs(std::uint64_t count, Meter& meter) { return cycle_queue(count, meter, 64); }

std::uint64_t quota_granted(std::uint64_t count, Meter& meter) {
  MemoryQuota quota{kGiB, kGiB, MemoryQuota::Limits{}};
  meter.resume();
  for (std::uint64_t i = 0; i < count; ++i) {
    const RecordIndex record{static_cast<std::uint32_t>(i % 64)};
    quota.release(record);
    keep(quota.request(QuotaRequest{record, Bytes{1 << 20}, 0, i, i}));
  }
  meter.pause();
  return count;
}

// The quota is exhausted: each release lets the first in line have its grant.
std::uint64_t quota_contended(std::uint64_t count, Meter& meter) {
  MemoryQuota quota{kGiB, kGiB, MemoryQuota::Limits{}};
  Rng rng{7};
  std::vector<RecordIndex> holders;
  std::vector<RecordIndex> granted;
  std::uint64_t sequence = 0;
  const auto request = [&](RecordIndex record) {
    return quota.request(QuotaRequest{record, Bytes{1 << 20}, 0, rng.below(1U << 20U), sequence++});
  };
  for (std::uint32_t i = 0; i < 2048; ++i)
    if (request(RecordIndex{i}) == QuotaAnswer::Granted) holders.push_back(RecordIndex{i});
  meter.resume();
  for (std::uint64_t i = 0; i < count; ++i) {
    RecordIndex& holder = holders[i % holders.size()];
    quota.release(holder);
    granted.clear();
    quota.take_granted(granted);
    keep(request(holder));
    holder = granted.front();
  }
  meter.pause();
  return count;
}

// A stencil's traffic: three producers for each successor, all of which finish here.
std::uint64_t successor_cycle(std::uint64_t count, Meter& meter) {
  constexpr std::uint32_t kRow = 512;
  SuccessorTable table;
  const JobSlot job{0};
  table.open_job(job);
  std::vector<RecordIndex> complete;
  meter.resume();
  for (std::uint32_t first = kRow; first < count + kRow; first += kRow) {
    for (std::uint32_t i = 0; i < kRow; ++i) {
      const std::uint32_t above = first - kRow + i;
      const SubtaskIndex producers[] = {SubtaskIndex{above > 0 ? above - 1 : 0}, SubtaskIndex{above},
                                        SubtaskIndex{above + 1}};
      table.add(RecordIndex{i}, job, producers);
    }
    for (std::uint32_t i = 0; i <= kRow; ++i)
      table.finished_here(job, {SubtaskIndex{first - kRow + i}, Attempt{1}}, complete);
    if (first == kRow) table.finished_here(job, {SubtaskIndex{0}, Attempt{1}}, complete);
    for (std::uint32_t i = first > kRow ? first - kRow - 1 : 0; i < first - 1; ++i)
      table.applied(job, {SubtaskIndex{i}, Attempt{1}});
    complete.clear();
  }
  meter.pause();
  return count;
}

std::uint64_t report_cycle(std::uint64_t count, Meter& meter) {
  constexpr std::uint64_t kBatch = 64;
  ReportBuffer buffer{4096, std::chrono::milliseconds{1}};
  std::vector<FinishedAttempt> finished;
  Instant now = instant_at(std::chrono::seconds{1});
  meter.resume();
  for (std::uint64_t i = 0; i < count; ++i) {
    AttemptReport report;
    report.subtask = SubtaskIndex{static_cast<std::uint32_t>(i)};
    report.attempt = Attempt{1};
    buffer.section(JobId{1}).attempts.push_back(report);
    buffer.count_one();
    if (i % kBatch != kBatch - 1) continue;
    now += std::chrono::milliseconds{1};
    if (buffer.due(now, false)) keep(buffer.take(now));
    buffer.applied(buffer.last_number(), finished);
    finished.clear();
  }
  meter.pause();
  return count;
}

constexpr Case kCases[] = {
    {"latched_queue/one_job", queue_one_job},     {"latched_queue/64_jobs", queue_many_jobs},
    {"memory_quota/granted", quota_granted},      {"memory_quota/contended", quota_contended},
    {"successor_table/stencil", successor_cycle}, {"report_buffer/batch_of_64", report_cycle},
};

}  // namespace

std::span<const Case> worker_cases() { return kCases; }

}  // namespace penstock::bench
