#include "cli/bench_figures.hpp"

#include <algorithm>

namespace penstock::cli {

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

SuccessorDelays successor_delays(const Graph& graph, const std::vector<SubtaskTrace>& traces) {
  std::vector<const SubtaskTrace*> of(graph.size(), nullptr);
  for (const SubtaskTrace& trace : traces) of[trace.run.subtask.value()] = &trace;
  std::vector<std::uint64_t> forwarded;
  std::vector<std::uint64_t> through_supervisor;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (of[i] == nullptr || graph.input_offsets[i] == graph.input_offsets[i + 1]) continue;
    std::uint64_t last_end = 0;
    bool same_worker = true;
    for (std::uint32_t edge = graph.input_offsets[i]; edge < graph.input_offsets[i + 1]; ++edge) {
      const SubtaskTrace* before = of[graph.predecessors[edge]];
      same_worker = same_worker && before != nullptr && before->worker == of[i]->worker;
      if (same_worker) last_end = std::max(last_end, before->run.ended_us);
    }
    if (!same_worker || of[i]->run.started_us < last_end) continue;
    (of[i]->run.arrived_us <= last_end ? forwarded : through_supervisor).push_back(of[i]->run.started_us - last_end);
  }
  return {percentiles_of(std::move(forwarded)), percentiles_of(std::move(through_supervisor))};
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace penstock::cli
