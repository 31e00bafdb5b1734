// Every case under Google Benchmark: real time for one operation.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/cases/cases.hpp"

namespace {

constexpr std::uint64_t kOperations = 100'000;

void measure(benchmark::State& state, const penstock::bench::Case& subject) {
  std::uint64_t done = 0;
  for (auto _ : state) {
    penstock::bench::Meter meter;
    const std::uint64_t operations = subject.run(kOperations, meter);
    done += operations;
    state.SetIterationTime(std::chrono::duration<double>(meter.elapsed()).count());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
  state.counters["per_op"] =
      benchmark::Counter(static_cast<double>(done), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace penstock::bench;
  for (const std::span<const Case> cases : {worker_cases(), flow_cases(), wire_cases()})
    for (const Case& subject : cases)
      benchmark::RegisterBenchmark(std::string{subject.name}.c_str(), measure, subject)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
