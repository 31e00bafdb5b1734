#include "tools/bench/bench_figures.hpp"

#include <algorithm>

namespace penstock::tools {

Percentiles percentiles_of(std::vector<std::uint64_t> times_us) {
  Percentiles found;
  if (times_us.empty()) return found;
  std::sort(times_us.begin(), times_us.end());
  found.count = times_us.size();
  found.p50_us = static_cast<double>(times_us[(times_us.size() - 1) / 2]);
  found.p99_us = static_cast<double>(times_us[(times_us.size() - 1) * 99 / 100]);
  found.max_us = static_cast<double>(times_us.back());
  return found;
}

Value to_value(const Percentiles& percentiles) {
  return Value::Record{{"count", percentiles.count},
                       {"p50_us", percentiles.p50_us},
                       {"p99_us", percentiles.p99_us},
                       {"max_us", percentiles.max_us}};
}

Percentiles percentiles_of_seconds(const std::vector<double>& times_s) {
  std::vector<std::uint64_t> times_us;
  for (const double time : times_s) times_us.push_back(static_cast<std::uint64_t>(std::max(time, 0.0) * 1e6 + 0.5));
  return percentiles_of(std::move(times_us));
}

namespace {

// REQUIRES: the last news have at least `count` successes.
double time_of(const std::vector<NewsPoint>& news, std::uint64_t count) {
  std::size_t at = 0;
  while (news[at].succeeded < count) ++at;
  if (at == 0 || news[at].succeeded == news[at - 1].succeeded) return news[at].seconds;
  const double part = static_cast<double>(count - news[at - 1].succeeded) /
                      static_cast<double>(news[at].succeeded - news[at - 1].succeeded);
  return news[at - 1].seconds + part * (news[at].seconds - news[at - 1].seconds);
}

}  // namespace

EdgeRates edge_rates(const std::vector<NewsPoint>& news, std::uint64_t edge) {
  if (news.size() < 3) return {};
  const std::uint64_t first = news.front().succeeded;
  const std::uint64_t last = news.back().succeeded;
  if (last < first + 2 * edge) return {};
  const double early = time_of(news, first + edge) - news.front().seconds;
  const double late = news.back().seconds - time_of(news, last - edge);
  if (early <= 0 || late <= 0) return {};
  return {static_cast<double>(edge) / early, static_cast<double>(edge) / late};
}

void add_successor_times(const Graph& graph, const std::vector<SubtaskTrace>& traces, SuccessorTimes& times) {
  std::vector<const SubtaskTrace*> of(graph.size(), nullptr);
  for (const SubtaskTrace& trace : traces) of[trace.run.subtask.value()] = &trace;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (of[i] == nullptr || graph.input_offsets[i] == graph.input_offsets[i + 1]) continue;
    std::uint64_t last_end = 0;
    bool same_worker = true;
    bool complete = true;
    for (std::uint32_t edge = graph.input_offsets[i]; edge < graph.input_offsets[i + 1]; ++edge) {
      const SubtaskTrace* before = of[graph.predecessors[edge]];
      complete = complete && before != nullptr;
      if (!complete) break;
      same_worker = same_worker && before->worker == of[i]->worker;
      last_end = std::max(last_end, before->run.ended_us);
    }
    if (!complete || of[i]->run.started_us < last_end) continue;
    const bool forwarded = same_worker && of[i]->run.arrived_us <= last_end;
    (forwarded ? times.forwarded_us : times.through_supervisor_us).push_back(of[i]->run.started_us - last_end);
  }
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace penstock::tools
