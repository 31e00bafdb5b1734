// Random clusters: the reasons and remedies that `explain` names are true. Each remedy is carried out in the same world
// once more, and the job gets more (docs/policy.md, Rules that hold a job, Remedies).
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/live_policy.hpp"
#include "tests/conformance/live_seeds.hpp"
#include "tests/conformance/random_cluster.hpp"
#include "tests/support/text_parts.hpp"

namespace penstock::tools {
namespace {

/// Of so many jobs one may wait with slots that its work does not reach: a fault of the supervisor that is known, and
/// no rule of the policy (priority with seed 22).
constexpr int kUntoldOf = 500;
constexpr int kWrongOf = 100;  ///< Of so many rows one may be wrong: later passes differ from those that were tried.

/// The same world each time that it is made.
class ExplainedCluster {
 public:
  ExplainedCluster(std::uint64_t seed, const std::string& preset) : random_{seed, preset, DrawnJobs::Mixed} {
    random_.submit_and_end();
    random_.live().advance(90s);
  }

  std::size_t jobs() const { return random_.jobs().size(); }
  std::string name(std::size_t job) const { return to_string(random_.id(job)); }
  std::size_t left(std::size_t job) const { return random_.left(job); }
  std::size_t runs(std::size_t job) { return running(random_.live(), random_.id(job)); }
  /// An elastic gang wants no more than its most. No reason is told to a job that has all there is.
  bool waits(std::size_t job) {
    const std::uint32_t most = random_.jobs()[job].gang_max;
    const std::size_t wanted = most > 0 ? std::min<std::size_t>(random_.left(job), most) : random_.left(job);
    return runs(job) < std::min(wanted, random_.most_runs(job));
  }
  /// The answer for bands of the kind that the jobs want.
  Value explain(std::size_t job, const std::string& field) {
    const Result<Value> said = random_.live().ask("explain", {name(job)});
    EXPECT_TRUE(said.has_value()) << name(job);
    return said ? (*said)[random_.is_on_gpu() ? "gpu_" + field : field] : Value{};
  }
  /// Carries out a row of `freed_by`. False: it is an event to wait for, or what a reload would change.
  bool carry_out(const Value& row) {
    const std::string what = *row["what"].text();
    const std::string how = *row["how"].text();
    if (what == "start" || what == "leave" || what == "worker") return false;
    if (how.find(" = ") != std::string::npos || how.find("others have to leave") != std::string::npos) return false;
    if (what == "end")
      for (const std::string& job : parts_of(*row["of"].text(), ", ")) end_job(job);
    for (const std::string& order : parts_of(how, "; ")) {
      if (order == "together") continue;
      std::vector<std::string> words = parts_of(order, " ");
      const std::string command = words.front();
      words.erase(words.begin());
      const Result<Value> done = random_.live().ask(command, words);
      EXPECT_TRUE(done.has_value()) << order << ": " << (done ? "" : to_string(done.error()));
    }
    random_.live().advance(30s);  // The grace, and passes.
    return true;
  }

 private:
  void end_job(const std::string& job) {
    const Result<Value> done = random_.live().ask("cancel", {job});
    EXPECT_TRUE(done.has_value()) << "cancel " << job << ": " << (done ? "" : to_string(done.error()));
  }

  RandomCluster random_;
};

struct Tally {
  int jobs = 0;  ///< Waiting ones.
  int untold = 0;
  int rows = 0;
  int wrong = 0;
};

void try_remedies(std::uint64_t seed, const std::string& preset, Tally& tally) {
  ExplainedCluster asked{seed, preset};
  for (std::size_t job = 0; job < asked.jobs(); ++job) {
    if (!asked.waits(job)) continue;
    const Value told = asked.explain(job, "holds");
    const Value::List* holds = told.list();
    ++tally.jobs;
    if (holds == nullptr || holds->empty()) {
      ++tally.untold;
      std::printf("%s, seed %d, %s: no reason, and %zu of %zu run\n", preset.c_str(), static_cast<int>(seed),
                  asked.name(job).c_str(), asked.runs(job), asked.left(job));
      continue;
    }
    const Value remedies = asked.explain(job, "freed_by");
    const Value::List* rows = remedies.list();
    for (std::size_t at = 0; rows != nullptr && at < rows->size(); ++at) {
      ExplainedCluster again{seed, preset};
      const std::size_t before = again.runs(job);
      const Value& row = (*rows)[at];
      if (!again.carry_out(row)) continue;
      ++tally.rows;
      if (again.runs(job) > before) continue;
      ++tally.wrong;
      std::printf("%s, seed %d, %s (%s): %s %s: %s\n", preset.c_str(), static_cast<int>(seed), asked.name(job).c_str(),
                  (*holds)[0]["text"].text()->c_str(), row["what"].text()->c_str(), row["of"].text()->c_str(),
                  row["how"].text()->c_str());
    }
  }
}

TEST(LiveExplain, NearlyAllJobsThatWaitAreToldAReasonAndNearlyAllRemediesGiveThemMore) {
  Tally tally;
  const std::vector<std::uint64_t> seeds = live_seeds(40);
  for (const std::uint64_t seed : seeds)
    for (const std::string& preset : kPresets) try_remedies(seed, preset, tally);
  std::printf("%d of %d jobs were told no reason; %d of %d rows did not help\n", tally.untold, tally.jobs, tally.wrong,
              tally.rows);
  EXPECT_GE(tally.rows, std::ssize(seeds));
  EXPECT_LE(tally.untold * kUntoldOf, tally.jobs);
  EXPECT_LE(tally.wrong * kWrongOf, tally.rows);
}

}  // namespace
}  // namespace penstock::tools
