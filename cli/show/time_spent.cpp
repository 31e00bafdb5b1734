#include "cli/show/time_spent.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/jobfile/amounts.hpp"
#include "cli/show/render.hpp"

namespace penstock::cli {
namespace {

std::uint64_t between(std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; }

Duration from_us(std::uint64_t us) {
  return std::chrono::microseconds{static_cast<std::int64_t>(std::min<std::uint64_t>(us, INT64_MAX / 1000))};
}

auto slot_of(const SubtaskTrace& trace) { return std::tuple{trace.worker, trace.run.band, trace.run.lane}; }

struct WorkerSpan {
  std::uint64_t first_us = UINT64_MAX;
  std::uint64_t last_us = 0;
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

TimeSpent measure_time_spent(const std::vector<SubtaskTrace>& traces) {
  std::vector<const SubtaskTrace*> sorted;
  std::map<WorkerId, WorkerSpan> spans;
  TimeSpent spent;
  for (const SubtaskTrace& trace : traces) {
    const AttemptTrace& run = trace.run;
    sorted.push_back(&trace);
    WorkerSpan& span = spans[trace.worker];
    span.first_us = std::min(span.first_us, run.arrived_us);
    span.last_us = std::max(span.last_us, run.ended_us);
    ++spent.attempts;
    spent.run += from_us(between(run.started_us, run.ended_us));
    spent.inputs += from_us(between(run.arrived_us, run.ready_us));
    spent.waiting += from_us(between(std::max(run.arrived_us, run.ready_us), run.started_us));
  }
  std::sort(sorted.begin(), sorted.end(), [](const SubtaskTrace* a, const SubtaskTrace* b) {
    return std::tuple{slot_of(*a), a->run.started_us, a->run.subtask} <
           std::tuple{slot_of(*b), b->run.started_us, b->run.subtask};
  });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const SubtaskTrace& trace = *sorted[i];
    const bool first = i == 0 || slot_of(*sorted[i - 1]) != slot_of(trace);
    if (first) ++spent.slots;
    const std::uint64_t free_us = first ? spans[trace.worker].first_us : sorted[i - 1]->run.ended_us;
    spent.overhead += from_us(between(std::max(free_us, trace.run.ready_us), trace.run.started_us));
  }
  for (const auto& [worker, span] : spans)
    spent.span = std::max(spent.span, from_us(between(span.first_us, span.last_us)));
  spent.idle = std::max(spent.span * static_cast<std::int64_t>(spent.slots) - spent.run - spent.overhead, Duration{0});
  return spent;
}

std::string show_time_spent(const TimeSpent& spent) {
  if (spent.attempts == 0) return {};
  Value::List rows;
  const auto add = [&](const char* what, Duration sum, Duration whole) {
    const double share = whole > Duration{0} ? seconds(sum) / seconds(whole) * 100 : 0;
    rows.push_back(Value::Record{{"where", what},
                                 {"sum", show_duration(sum)},
                                 {"share", show_fixed(share, 1) + "%"},
                                 {"each", show_duration(sum / static_cast<std::int64_t>(spent.attempts))}});
  };
  const Duration slot_time = spent.run + spent.overhead + spent.idle;
  const Duration life = spent.inputs + spent.waiting + spent.run;
  add("slots: running programs", spent.run, slot_time);
  add("slots: free, next one ready", spent.overhead, slot_time);
  add("slots: free, nothing ready", spent.idle, slot_time);
  add("attempts: waiting for inputs", spent.inputs, life);
  add("attempts: waiting for a slot", spent.waiting, life);
  add("attempts: running", spent.run, life);
  return show_count(spent.attempts) + " attempts on " + show_count(spent.slots) + " slots in " +
         show_duration(spent.span) + "\n" + to_table(rows);
}

}  // namespace penstock::cli
