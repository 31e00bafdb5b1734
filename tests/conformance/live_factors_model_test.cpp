// Random clusters by multi-factor priority against Flux's and Slurm's formulas, written apart from the product:
// whenever a slot is free, the first job in order that no limit keeps back has it. Spec: policy-flux 2, 3, 5.2, 6.1, 8.
#include <algorithm>
#include <cmath>

#include "common/base/rng.hpp"
#include "tests/conformance/live_policy.hpp"
#include "tests/conformance/live_seeds.hpp"

namespace penstock::tools {
namespace {

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// A user, with an account at the top.
struct User {
  std::string name;
  std::int64_t shares = 1;
  std::int64_t running_jobs_max = kUnbounded;
  std::int64_t slots_max = kUnbounded;
  double used = 0;  ///< Slot-seconds, decayed.
};

struct FactorJob {
  Wish wish;
  std::size_t user;
  double quality;
  double level;
  Instant submitted;
  JobId id;
  std::uint32_t started = 0;
  std::uint32_t ended = 0;
  std::uint32_t held() const { return started - ended; }
  bool has_begun() const { return started > 0 && ended < wish.subtasks; }
};

/// One host, that a job of its own fills first. Its runs, and those of the others, end one by one.
class FactorCluster {
 public:
  explicit FactorCluster(std::uint64_t seed)
      : draw_(seed), slots_(static_cast<std::int64_t>(2 + draw(7))), cluster_(config()) {
    cluster_.join(cpu_worker("w1", slots_));
    users_.push_back({.name = "first"});
    submit_job({.name = "first", .subtasks = static_cast<std::uint32_t>(slots_)}, users_.size() - 1);
    pass(std::chrono::milliseconds{1500});
    jobs_.front().started = static_cast<std::uint32_t>(slots_);
    const std::size_t jobs = 3 + draw(8);
    for (std::size_t i = 0; i < jobs; ++i) {
      Wish wish{.name = "j" + std::to_string(i), .subtasks = static_cast<std::uint32_t>(1 + draw(3))};
      wish.qos = std::vector<std::string>{"", "expedite", "standby"}[draw(3)];
      wish.queue = std::vector<std::string>{"", "long", "short"}[draw(3)];
      wish.user_factor = static_cast<std::uint32_t>(draw(2) == 0 ? kUserFactorMax : draw(kUserFactorMax));
      submit_job(wish, draw(users_.size() - 1));
      pass(std::chrono::milliseconds{1 + draw(20'000)});
    }
  }

  /// Ends a run. Its job keeps the slot while it has more to run, as an allocation is a job's until it ends. Each slot
  /// that is free otherwise goes to the first of the jobs that may have it, by the formulas.
  void end_one_and_expect_the_first(const std::string& where) {
    auto run = cluster_.runs().begin();
    std::advance(run, static_cast<std::ptrdiff_t>(draw(cluster_.runs().size())));
    const SubtaskId ends = run->first;
    cluster_.end(ends);
    FactorJob& ended = job(ends.job);
    ++ended.ended;
    if (ended.started < ended.wish.subtasks) ++ended.started;
    std::int64_t idle = slots_;
    for (const FactorJob& each : jobs_) idle -= each.held();
    const std::vector<double> priorities = this->priorities();
    pass(std::chrono::milliseconds{1000});
    for (std::vector<std::size_t> started = starts(); idle > 0; --idle) {
      const double highest = highest_that_may_start(priorities);
      const auto first = std::find_if(started.begin(), started.end(), [&](std::size_t i) {
        return may_start(jobs_[i]) && priorities[i] >= highest - kTolerance;
      });
      if (highest < 0 || first == started.end()) {
        EXPECT_TRUE(highest < 0 && started.empty())
            << where << ": a job of " << highest << " waits, and " << started.size() << " runs start";
        for (const std::size_t i : started) ADD_FAILURE() << jobs_[i].wish.name << " of " << priorities[i] << " starts";
        break;
      }
      ++jobs_[*first].started;
      started.erase(first);
    }
    for (FactorJob& each : jobs_) each.started = each.ended + static_cast<std::uint32_t>(running(cluster_, each.id));
  }

  bool has_runs() const { return !cluster_.runs().empty(); }
  LiveCluster& live() { return cluster_; }

 private:
  /// The product rounds, and charges use when a pass comes: of weights up to 1,000 that is less than so many units.
  static constexpr double kTolerance = 10;
  static constexpr double kHalfLife = 40;
  static constexpr double kWaitMax = 60;

  std::size_t draw(std::size_t below) { return static_cast<std::size_t>(draw_.below(below)); }
  std::int64_t weight() { return draw(3) == 0 ? 0 : static_cast<std::int64_t>(1 + draw(1000)); }

  SupervisorConfig config() {
    SupervisorConfig config = config_of("multifactor");
    PolicyConfig& policy = config.policy;
    policy.period = 200ms;
    policy.usage_half_life = std::chrono::seconds{static_cast<int>(kHalfLife)};
    factors_ = FactorConfig{weight(), weight(), weight(), weight(), 0, weight()};
    factors_.wait_max = std::chrono::seconds{static_cast<int>(kWaitMax)};
    policy.pools[0].factors = factors_;
    policy.pools[0].reserve_depth = static_cast<std::int64_t>(draw(3));
    policy.qos = {{.name = "expedite", .factor = 1000}, {.name = "standby", .factor = 0}};
    long_queue_ = static_cast<std::int64_t>(1 + draw(9));
    policy.queues = {{.name = "long", .priority = long_queue_}, {.name = "short", .priority = 10}};
    policy.accounts.push_back({.name = "first"});
    for (std::size_t i = 0; i < 3; ++i) {
      User& user = users_.emplace_back();
      user.name = "u" + std::to_string(i);
      user.shares = static_cast<std::int64_t>(1 + draw(4));
      if (draw(2) == 0) user.running_jobs_max = static_cast<std::int64_t>(1 + draw(2));
      if (draw(2) == 0) user.slots_max = static_cast<std::int64_t>(1 + draw(4));
      policy.accounts.push_back({.name = user.name, .shares = user.shares});
      policy.users.push_back({.name = user.name});
      policy.users.back().limits.running_jobs_max = user.running_jobs_max;
      policy.users.back().limits.slots_max = user.slots_max;
    }
    return config;
  }

  void submit_job(Wish wish, std::size_t user) {
    wish.owner = users_[user].name;
    const double quality = wish.qos == "expedite" ? 1 : wish.qos == "standby" ? 0 : 0.5;
    const double level = wish.queue == "short" ? 1 : wish.queue == "long" ? static_cast<double>(long_queue_) / 10 : 0;
    jobs_.push_back({wish, user, quality, level, cluster_.now(), submit(cluster_, wish)});
  }

  FactorJob& job(JobId id) {
    return *std::find_if(jobs_.begin(), jobs_.end(), [id](const FactorJob& each) { return each.id == id; });
  }

  /// Time passes, with what runs now charged for it. REQUIRES: nothing starts or ends meanwhile, or soon after.
  void pass(Duration time) {
    const double fades = std::exp2(-seconds_of(time) / kHalfLife);
    for (User& user : users_) user.used *= fades;
    cluster_.advance(time);
    for (const auto& [subtask, run] : cluster_.runs())
      users_[job(subtask.job).user].used += kHalfLife / std::log(2.0) * (1 - fades);
  }

  /// The jobs of the runs that have started and are not counted yet, one entry a run.
  std::vector<std::size_t> starts() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      all.insert(all.end(), running(cluster_, jobs_[i].id) - jobs_[i].held(), i);
    return all;
  }

  /// Below 0: no job may start.
  double highest_that_may_start(const std::vector<double>& priorities) const {
    double highest = -1;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (may_start(jobs_[i])) highest = std::max(highest, priorities[i]);
    return highest;
  }

  bool may_start(const FactorJob& wants) const {
    if (wants.started == wants.wish.subtasks) return false;
    const User& user = users_[wants.user];
    std::int64_t jobs = 0;
    std::int64_t slots = 0;
    for (const FactorJob& each : jobs_) {
      if (each.user != wants.user) continue;
      jobs += each.has_begun() ? 1 : 0;
      slots += each.held();
    }
    if (user.slots_max != kUnbounded && slots >= user.slots_max) return false;
    return wants.has_begun() || user.running_jobs_max == kUnbounded || jobs < user.running_jobs_max;
  }

  std::vector<double> priorities() const {
    double shares = 0;
    double used = 0;
    for (const User& user : users_) {
      shares += static_cast<double>(user.shares);
      used += user.used;
    }
    std::vector<double> all;
    for (const FactorJob& each : jobs_) {
      const User& user = users_[each.user];
      const double due = static_cast<double>(user.shares) / shares;
      const double fair_share = used == 0 ? 1 : std::exp2(-user.used / used / due);
      const double wait = std::min(1.0, seconds_of(cluster_.now() - each.submitted) / kWaitMax);
      all.push_back(static_cast<double>(factors_.wait) * wait + static_cast<double>(factors_.fair_share) * fair_share +
                    static_cast<double>(factors_.qos) * each.quality +
                    static_cast<double>(factors_.queue) * each.level +
                    static_cast<double>(factors_.user) * each.wish.user_factor / kUserFactorMax);
    }
    return all;
  }

  Rng draw_;
  FactorConfig factors_;
  std::int64_t long_queue_ = 0;
  std::vector<User> users_;
  std::int64_t slots_ = 0;
  LiveCluster cluster_;
  std::vector<FactorJob> jobs_;
};

TEST(LiveFactorsModel, EachFreeSlotIsGivenToTheFirstJobInOrder) {
  for (const std::uint64_t seed : live_seeds(200)) {
    FactorCluster random{seed};
    const std::string where = "seed " + std::to_string(seed);
    while (random.has_runs() && !testing::Test::HasFailure()) random.end_one_and_expect_the_first(where);
    EXPECT_TRUE(random.live().troubles().empty()) << where;
  }
}

}  // namespace
}  // namespace penstock::tools
