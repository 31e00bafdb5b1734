// Random clusters: each remedy that `explain` tells is carried out, and the job gets more slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "common/base/rng.hpp"
#include "tests/support/remedy_harness.hpp"
#include "tests/support/text_parts.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::uint64_t kClusters = 1000;
constexpr int kWrongOf = 100;     ///< Of so many rows one may be wrong.
constexpr int kPassesAfter = 4;  ///< Victims leave in the first, the job starts in the second; twice that.

struct DrawnJob {
  JobPolicy policy;
  std::uint32_t slots = 1;
  std::uint32_t subtasks = 1;
  std::int32_t priority = 0;
  std::string owner;
};

struct DrawnCluster {
  SupervisorConfig config;
  std::vector<WorkerSpec> workers;
  std::vector<std::uint32_t> drained;  ///< By number.
  std::vector<std::uint32_t> lost;
  std::vector<DrawnJob> jobs;
  std::size_t before_drains = 0;  ///< So many jobs are there before workers drain or are lost.
};

std::uint32_t between(Rng& rng, std::int64_t low, std::int64_t high) {
  return static_cast<std::uint32_t>(rng.between(low, high));
}

void draw_owners(Rng& rng, PolicyConfig& policy) {
  if (rng.chance(1, 2)) {
    const bool nested = rng.chance(1, 2);
    if (nested) {
      policy.projects.push_back({.name = "d", .is_department = true, .guaranteed_slots = rng.between(0, 6)});
      if (rng.chance(1, 3)) policy.projects.back().slots_max = rng.between(6, 8);
    }
    for (const char* name : {"a", "b"}) {
      policy.projects.push_back(
          {.name = name, .department = nested && rng.chance(2, 3) ? "d" : "", .guaranteed_slots = rng.between(0, 4)});
      if (rng.chance(1, 4)) policy.projects.back().slots_max = rng.between(4, 6);
    }
  }
  if (!rng.chance(1, 3)) return;
  policy.users = {{.name = "ann"}};
  JobLimits& limits = policy.users.front().limits;
  if (rng.chance(1, 2)) limits.running_jobs_max = rng.between(1, 2);
  if (rng.chance(1, 2)) limits.slots_max = rng.between(2, 6);
  if (rng.chance(1, 4)) limits.waiting_jobs_max = rng.between(1, 2);
}

DrawnJob draw_job(Rng& rng, const PolicyConfig& policy) {
  DrawnJob job;
  if (!policy.projects.empty() && rng.chance(3, 4)) job.policy.project = rng.chance(1, 2) ? "a" : "b";
  if (rng.chance(1, 3)) job.policy.kind = JobKind::Interactive;
  if (rng.chance(1, 3)) job.policy.gang = between(rng, 2, 8);
  if (rng.chance(1, 4)) job.policy.weight = between(rng, 1, 6) * 500;
  if (rng.chance(1, 4)) job.policy.slots_max = between(rng, 1, 4);
  job.slots = job.policy.gang > 0 ? 1 : between(rng, 1, 3);
  if (job.policy.slots_max > 0) job.policy.slots_max = std::max(job.policy.slots_max, job.slots + job.policy.gang);
  job.subtasks = job.policy.gang > 0 ? job.policy.gang : between(rng, 1, 8);
  job.priority = static_cast<std::int32_t>(rng.between(0, 4));
  if (rng.chance(1, 2)) job.owner = "ann";
  return job;
}

DrawnCluster draw(std::uint64_t seed) {
  Rng rng{seed};
  const char* presets[] = {"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"};
  DrawnCluster drawn{policed(presets[rng.between(0, 4)]), {}, {}, {}, {}, 0};
  PolicyConfig& policy = drawn.config.policy;
  policy.pools[0].preemption = rng.chance(3, 4);
  if (policy.pools[0].preset == "multifactor" && *policy.pools[0].preemption) policy.pools[0].preemption.reset();
  policy.period = std::chrono::milliseconds{4};  // Each test lets many passes go by.
  policy.settle = std::chrono::milliseconds{1};
  draw_owners(rng, policy);
  for (std::int64_t i = rng.between(1, 4); i > 0; --i) drawn.workers.push_back({.slots = between(rng, 1, 5)});
  for (std::uint32_t worker = 2; worker <= drawn.workers.size(); ++worker) {
    if (rng.chance(1, 4))
      drawn.drained.push_back(worker);
    else if (rng.chance(1, 5))
      drawn.lost.push_back(worker);
  }
  for (std::int64_t i = rng.between(2, 6); i > 0; --i) drawn.jobs.push_back(draw_job(rng, policy));
  drawn.before_drains = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(drawn.jobs.size())));
  return drawn;
}

class DrawnHarness : public RemedyHarness {
 public:
  explicit DrawnHarness(const DrawnCluster& drawn) : RemedyHarness{drawn.config}, drawn_{drawn} {
    for (const WorkerSpec& spec : drawn.workers) cluster.join(spec);
    for (std::size_t i = 0; i < drawn.jobs.size(); ++i) {
      if (i == drawn.before_drains) close_workers();
      submit(drawn.jobs[i]);
    }
    if (drawn.before_drains == drawn.jobs.size()) close_workers();
    pass(10);
  }

  /// Of those that are there.
  std::vector<JobId> jobs() { return jobs_; }
  void pass(int passes) {
    if (!jobs_.empty()) cluster.settle(passes);
  }
  /// Carries out a row of `freed_by`. False: it is an event to wait for, or a first step.
  bool carry_out(const Value& row) {
    const std::string what = *row["what"].text();
    const std::string how = *row["how"].text();
    if (what == "start" || what == "leave" || how.find("others have to leave") != std::string::npos) return false;
    for (const std::string& each : parts_of(*row["of"].text(), ", ")) {
      if (what == "end") cluster.client_says(AdminRequest{1, "cancel", {each}, "ada@desk"});
      for (const std::uint32_t number : drawn_.lost)
        if (what == "worker" && each == "worker-" + std::to_string(number)) cluster.join(drawn_.workers[number - 1]);
    }
    for (const std::string& order : parts_of(how, "; ")) {
      if (order.find(" = ") != std::string::npos)
        raise(order, *row["of"].text());
      else if (order != "together" && order != "it comes back")
        say(order);
    }
    pass(kPassesAfter);
    return true;
  }

 private:
  void submit(const DrawnJob& job) {
    GraphBuilder builder;
    builder.template_at(0).request.slots = kOneSlot * job.slots;
    JobSpec spec;
    spec.name = "job " + std::to_string(jobs_.size() + 1);
    spec.priority = job.priority;
    spec.owner = job.owner;
    spec.wait_for_resources = true;
    spec.policy = job.policy;
    if (const JobId id = cluster.submit(builder.sources(job.subtasks).build(), spec); id.valid()) jobs_.push_back(id);
    pass(3);
  }
  void close_workers() {
    for (const std::uint32_t worker : drawn_.drained) say("drain worker-" + std::to_string(worker));
    for (const std::uint32_t worker : drawn_.lost) cluster.lose(worker);
  }
  void say(const std::string& order) {
    std::vector<std::string> words = parts_of(order, " ");
    const std::string command = words.front();
    words.erase(words.begin());
    const Result<Value> done = cluster.ask(command, words);
    EXPECT_TRUE(done.has_value()) << order << ": " << (done ? "" : to_string(done.error()));
  }
  /// `slots_max = 4`, of `name` if the order does not say `of project 'a'` itself.
  void raise(const std::string& order, const std::string& name) {
    const std::vector<std::string> words = parts_of(order, " ");
    const std::string owner = words.size() > 3 ? words.back().substr(1, words.back().size() - 2) : name;
    for (ProjectConfig& project : drawn_.config.policy.projects)
      if (project.name == owner) std::from_chars(words[2].data(), words[2].data() + words[2].size(), project.slots_max);
    cluster.handle(supervisor_event::PolicyRead{ClientId::none(), {0, "reload", {}, "SIGHUP"}, drawn_.config.policy});
  }

  DrawnCluster drawn_;
  std::vector<JobId> jobs_;
};

std::string text_of(const Value& row) {
  return *row["what"].text() + " " + *row["of"].text() + ": " + *row["how"].text();
}

struct Tally {
  int cases = 0;        ///< With a row at all.
  int wrong_cases = 0;  ///< With a row that did not help.
  int rows = 0;
  int wrong = 0;
};

/// Tries each row told of one job, and prints those that gave it nothing.
void try_remedies(std::uint64_t seed, Tally& tally) {
  const DrawnCluster drawn = draw(seed);
  DrawnHarness asked{drawn};
  Value::List rows;
  JobId subject;
  for (const JobId each : asked.jobs()) {
    const Value answer = asked.explain(each);
    if (const Value::List* told = answer["freed_by"].list(); told != nullptr) rows = *told, subject = each;
  }
  const int wrong_before = tally.wrong;
  for (const Value& row : rows) {
    DrawnHarness it{drawn};
    const std::uint64_t before = it.held(subject);
    if (!it.carry_out(row)) continue;
    ++tally.rows;
    if (it.held(subject) > before) continue;
    ++tally.wrong;
    std::printf("cluster %d, %s (%s): %s\n", static_cast<int>(seed), to_string(subject).c_str(),
                asked.explain(subject)["held_by"].text()->c_str(), text_of(row).c_str());
  }
  tally.cases += rows.empty() ? 0 : 1;
  tally.wrong_cases += tally.wrong > wrong_before ? 1 : 0;
}

// Passes that follow differ from the one that was tried: jobs are admitted, or get work that no band could have before.
TEST(RemediesProperty, NearlyAllRemediesThatAreToldGiveTheJobMore) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= kClusters; ++seed) try_remedies(seed, tally);
  std::printf("%d clusters with remedies, %d of them with one that did not help; %d of %d rows\n", tally.cases,
              tally.wrong_cases, tally.wrong, tally.rows);
  EXPECT_GE(tally.rows, static_cast<int>(kClusters) * 9 / 10);
  EXPECT_LE(tally.wrong * kWrongOf, tally.rows);
}

}  // namespace
}  // namespace penstock::supervisor
