// The jobs that tests of real clusters run, and the means to watch them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "client/src/session.hpp"
#include "common/json/json_text.hpp"

namespace penstock {

inline constexpr Duration kLong = std::chrono::seconds{60};

/// Rows of subtasks, each reading its three neighbours of the row before; every one computes for `burn_ns` and makes
/// `output_bytes`.
inline Graph stencil(std::uint32_t rows, std::uint32_t width, std::uint64_t burn_ns, std::uint64_t output_bytes) {
  Graph graph;
  Template program;
  program.name = "cell";
  program.program = "burn";
  const std::uint64_t work[2] = {burn_ns, output_bytes};
  program.payload.assign(reinterpret_cast<const char*>(work), sizeof work);
  graph.templates = {program};
  for (std::uint32_t i = 0; i < rows * width; ++i) {
    graph.template_of.push_back(0);
    const std::uint32_t column = i % width;
    if (i >= width) {
      if (column > 0) graph.predecessors.push_back(i - width - 1);
      graph.predecessors.push_back(i - width);
      if (column + 1 < width) graph.predecessors.push_back(i - width + 1);
    }
    graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
  }
  return graph;
}

/// Counts how often each subtask of the first job that it hears of is told to have succeeded.
class Witness {
 public:
  Witness(client::Session& session, std::size_t subtasks) : seen_(subtasks) {
    session.set_on_news([this](const JobProgress& progress) {
      if (!job_.valid()) job_ = progress.job;
      if (progress.job != job_) return;
      for (const SubtaskRange& range : progress.succeeded)
        for (std::uint32_t i = range.first.value(); i <= range.last.value(); ++i) ++seen_[i];
      succeeded_ = progress.counts.succeeded;
    });
  }
  std::uint64_t succeeded() const { return succeeded_; }
  void expect_each_once() const {
    for (std::size_t i = 0; i < seen_.size(); ++i) ASSERT_EQ(seen_[i], 1U) << "subtask " << i;
  }

 private:
  JobId job_;
  std::vector<std::uint32_t> seen_;
  std::atomic<std::uint64_t> succeeded_{0};
};

inline JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  return spec;
}

/// The state of the job after at most `kLong`; if it still runs, with what the supervisor says about it.
inline JobState wait_for_end(client::Session& session, JobId job) {
  const Result<JobState> state = session.wait(job, kLong);
  if (!state) ADD_FAILURE() << to_string(state.error());
  if (state && *state != JobState::Running) return *state;
  for (const char* question : {"job", "explain", "queues", "workers"}) {
    const Result<Value> answer = session.ask(question, {to_string(job)});
    ADD_FAILURE() << question << ": " << (answer ? to_json(*answer) : to_string(answer.error()));
  }
  return JobState::Running;
}

inline void wait_for_some(client::Session& session, JobId job, const Witness& witness, std::uint64_t some) {
  for (int i = 0; i < 10000 && witness.succeeded() < some; ++i) {
    const Result<JobState> state = session.wait(job, std::chrono::milliseconds{2});
    ASSERT_TRUE(state.has_value());
    ASSERT_EQ(*state, JobState::Running) << "the job is too short for this test";
  }
}

}  // namespace penstock
