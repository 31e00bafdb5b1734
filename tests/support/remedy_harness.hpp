// A cluster with jobs that wait for each other, and what `explain` says would free them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {

class RemedyHarness {
 public:
  explicit RemedyHarness(const SupervisorConfig& config) : cluster{config} {}
  ~RemedyHarness() { cluster.ignore(); }
  RemedyHarness(const RemedyHarness&) = delete;
  RemedyHarness& operator=(const RemedyHarness&) = delete;

  JobId submit(JobPolicy policy, std::uint32_t slots, std::uint32_t subtasks, std::int32_t priority = 0,
               const std::string& owner = "") {
    GraphBuilder builder;
    builder.template_at(0).request.slots = kOneSlot * slots;
    JobSpec spec;
    spec.name = "job " + std::to_string(++jobs_);
    spec.priority = priority;
    spec.owner = owner;
    spec.wait_for_resources = true;
    spec.policy = std::move(policy);
    const JobId id = cluster.submit(builder.sources(subtasks).build(), spec);
    cluster.settle(3);
    return id;
  }
  Value explain(JobId job) {
    const Result<Value> answer = cluster.ask("explain", {to_string(job)});
    EXPECT_TRUE(answer.has_value());
    return answer ? *answer : Value{};
  }
  /// Rows as `what of: how`.
  Lines freed_by(JobId job) {
    Lines lines;
    const Value answer = explain(job);
    if (const Value::List* rows = answer["freed_by"].list())
      for (const Value& row : *rows)
        lines.push_back(*row["what"].text() + " " + *row["of"].text() +
                        (row["how"].text()->empty() ? "" : ": " + *row["how"].text()));
    return lines;
  }
  /// Rows as `rule subject`.
  Lines holds(JobId job) {
    Lines lines;
    const Value answer = explain(job);
    if (const Value::List* rows = answer["holds"].list())
      for (const Value& row : *rows) lines.push_back(*row["rule"].text() + " " + *row["subject"].text());
    return lines;
  }
  /// Carries out the orders of a row, each like `set weight job-2 3`, and lets passes follow.
  void follow(const std::string& orders) {
    std::vector<std::string> words{""};
    const auto order = [&] {
      const std::string command = words.front();
      words.erase(words.begin());
      const Result<Value> done = cluster.ask(command, words);
      EXPECT_TRUE(done.has_value()) << orders << ": " << (done ? "" : to_string(done.error()));
      words = {""};
    };
    for (const char c : orders) {
      if (c == ';')
        order();
      else if (c == ' ' && !words.back().empty())
        words.emplace_back();
      else if (c != ' ')
        words.back() += c;
    }
    order();
    cluster.settle(4);
  }
  std::string how(JobId job, const std::string& what) {
    const Value answer = explain(job);
    if (const Value::List* rows = answer["freed_by"].list())
      for (const Value& row : *rows)
        if (*row["what"].text() == what) return *row["how"].text();
    return {};
  }
  std::uint64_t held(JobId job) {
    std::uint64_t milli = 0;
    for (const BandShare& share : cluster.job(job.value()).shares->bands) milli += share.planned;
    return milli;
  }
  void end(JobId job) {
    cluster.client_says(AdminRequest{1, "cancel", {to_string(job)}, "ada@desk"});
    cluster.settle(4);
  }

  PolicedSupervisor cluster;

 private:
  int jobs_ = 0;
};

}  // namespace penstock::supervisor
