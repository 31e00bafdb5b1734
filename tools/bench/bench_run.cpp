#include "tools/bench/bench_run.hpp"

#include <algorithm>
#include <memory>

#include "common/host/clock.hpp"

namespace penstock::tools {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Result<client::Session::Submitted> submit(client::Session& session, const JobSpec& spec, const Graph& graph,
                                          Graph&& copy, Submission submission) {
  if (submission == Submission::Whole) return session.submit(spec, std::move(copy));
  Result<client::Session::Submitted> submitted = session.submit_again(spec, graph);
  if (submitted && submitted->sent_whole)
    return Error{ErrorCode::UnknownGraph, spec.name, "was sent whole: the supervisor has not kept the graph",
                 "raise `supervisor.cached_graph_bytes_max` with --set"};
  return submitted;
}

}  // namespace

Result<BenchRun> run_once(client::Session& session, StopSignals& stop_signals, const Graph& graph,
                          const BenchRunOptions& options) {
  JobSpec spec;
  spec.name = "bench-" + std::to_string(monotonic_now().time_since_epoch().count());
  spec.trace = options.tracing == Tracing::On;
  // A graph that is sent whole is given away; the copy belongs to the benchmark, not to the engine.
  Graph copy = options.submission == Submission::Whole ? graph : Graph{};
  // The handler is an owner, too, because a run may be given up.
  const auto news = std::make_shared<std::vector<NewsPoint>>();
  const Instant begin = monotonic_now();
  session.set_on_news([news, begin](const JobProgress& progress) {
    news->push_back({seconds(monotonic_now() - begin), progress.counts.succeeded});
  });
  const auto submitted = submit(session, spec, graph, std::move(copy), options.submission);
  const Instant accepted = monotonic_now();
  const Result<JobState> state =
      submitted ? wait_unless_stopped(session, stop_signals, submitted->job) : Result<JobState>{submitted.error()};
  const Instant end = monotonic_now();
  session.set_on_news({});
  if (!state) return state.error();
  BenchRun run;
  run.accept_s = seconds(accepted - begin);
  run.total_s = seconds(end - begin);
  run.view = session.view(submitted->job);
  session.release(submitted->job);
  session.forget(submitted->job);
  if (*state != JobState::Succeeded || run.view.counts.succeeded != graph.size())
    return Error{ErrorCode::Internal, spec.name, "has not succeeded: " + to_string(run.view.error), {}};
  run.news = *news;
  std::uint64_t first_us = UINT64_MAX;
  for (const SubtaskTrace& traced : run.view.traces) first_us = std::min(first_us, traced.run.started_us);
  if (!run.view.traces.empty())
    run.first_start_s = static_cast<double>(first_us) / 1e6 - seconds(begin.time_since_epoch());
  return run;
}

}  // namespace penstock::tools
