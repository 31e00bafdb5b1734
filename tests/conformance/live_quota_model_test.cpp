// Random clusters with quotas against Run:ai's own rules, written apart from the product: projects in departments, jobs
// of single devices that hold them for good. Spec: policy-runai 4, 6, 9.
#include <algorithm>
#include <numeric>

#include "common/base/rng.hpp"
#include "tests/conformance/live_policy.hpp"
#include "tests/conformance/live_seeds.hpp"
#include "tests/support/quota_shares.hpp"

namespace penstock::tools {
namespace {

constexpr std::uint32_t kMilli = 1000;

/// Devices of a project or a department.
struct Held {
  std::int64_t all = 0;
  std::int64_t for_good = 0;  ///< By jobs that may not be preempted.
};

/// Departments first, then projects; each has its jobs.
class QuotaCluster {
 public:
  explicit QuotaCluster(std::uint64_t seed) : draw_(seed), cluster_(config()) {
    const std::size_t hosts = 1 + draw(3);
    for (std::size_t i = 0; i < hosts; ++i) {
      const std::size_t devices = 1 + draw(6);
      cluster_.join(gpu_worker("w" + std::to_string(i + 1), devices));
      devices_ += static_cast<std::int64_t>(devices);
    }
  }

  void submit_all() {
    const std::size_t jobs = 2 + draw(9);
    for (std::size_t i = 0; i < jobs; ++i) {
      const std::size_t owner = departments_ + draw(owners_.size() - departments_);
      Wish wish{.name = "j" + std::to_string(i),
                .subtasks = static_cast<std::uint32_t>(1 + draw(8)),
                .on_gpu = true,
                .waits_for_resources = true};
      wish.project = projects_[owner].name;
      wish.priority = static_cast<std::int32_t>(draw(3));
      if (stays_within_guarantees(owner) && draw(4) == 0) wish.kind = JobKind::Interactive;
      jobs_.push_back({wish, owner, submit(cluster_, wish)});
      add_demand(owner, wish);
      if (draw(2) == 0) cluster_.advance(std::chrono::milliseconds{10 + draw(3000)});
    }
  }

  struct Job {
    Wish wish;
    std::size_t owner;
    JobId id;
    bool is_preemptible() const { return wish.kind == JobKind::Training; }
    /// Of two jobs of a project the one of the larger rank goes first. Spec: policy-runai 1.
    std::int64_t rank() const { return (is_preemptible() ? 0 : 1000) + wish.priority; }
  };

  LiveCluster& live() { return cluster_; }
  std::int64_t devices() const { return devices_; }
  std::size_t departments() const { return departments_; }
  const std::vector<Job>& jobs() const { return jobs_; }
  const std::string& name(std::size_t owner) const { return projects_[owner].name; }

  std::vector<QuotaOwner> shares() const {
    std::vector<QuotaOwner> owners = owners_;
    divide_by_quota(owners, devices_);
    return owners;
  }
  std::vector<Held> held() const {
    std::vector<Held> sums(owners_.size());
    for (const Job& job : jobs_) {
      const auto runs = static_cast<std::int64_t>(running(cluster_, job.id));
      for (std::size_t at = job.owner; at != QuotaOwner::kTop; at = owners_[at].above) {
        sums[at].all += runs;
        if (!job.is_preemptible()) sums[at].for_good += runs;
      }
    }
    return sums;
  }
  /// The most that an owner can hold: jobs that may not be preempted stay within the quota, all within the limit.
  std::int64_t usable(std::size_t owner) const {
    std::int64_t sum = 0;
    if (owner >= departments_)
      sum = preemptible_[owner] + std::min(owners_[owner].quota, owners_[owner].request - preemptible_[owner]);
    for (std::size_t i = departments_; i < owners_.size(); ++i)
      if (owners_[i].above == owner) sum += usable(i);
    return std::min(sum, owners_[owner].limit);
  }

 private:
  std::size_t draw(std::size_t below) { return static_cast<std::size_t>(draw_.below(below)); }

  SupervisorConfig config() {
    SupervisorConfig config = config_of("quota");
    config.policy.period = 1s;
    departments_ = draw(3);
    const std::size_t count = departments_ + 1 + draw(4);
    for (std::size_t i = 0; i < count; ++i) add_owner(i);
    // Where no sibling says a weight, quotas are the weights; nobody has a quota: all are equal.
    for (std::size_t i = 0; i < count; ++i) {
      const auto is_sibling = [&](std::size_t other) { return owners_[other].above == owners_[i].above; };
      bool any_quota = false;
      bool any_weight = false;
      for (std::size_t other = 0; other < count; ++other) {
        any_quota = any_quota || (is_sibling(other) && owners_[other].quota > 0);
        any_weight = any_weight || (is_sibling(other) && projects_[other].weight != kNoWeight);
      }
      if (projects_[i].weight == kNoWeight)
        owners_[i].weight = any_weight || !any_quota ? kMilli : owners_[i].quota * kMilli;
    }
    config.policy.projects = projects_;
    return config;
  }

  void add_owner(std::size_t at) {
    ProjectConfig& project = projects_.emplace_back();
    QuotaOwner& owner = owners_.emplace_back();
    preemptible_.push_back(0);
    project.is_department = at < departments_;
    project.name = (project.is_department ? "d" : "p") + std::to_string(at);
    owner.quota = project.guaranteed_gpu_slots = static_cast<std::int64_t>(draw(project.is_department ? 7 : 4));
    if (draw(3) > 0) owner.weight = project.weight = static_cast<std::int64_t>(kMilli * (1 + draw(3)));
    if (draw(3) == 0) owner.priority = project.priority = 50;
    if (draw(4) == 0)
      owner.limit = project.gpu_slots_max = std::max<std::int64_t>(1, owner.quota + static_cast<std::int64_t>(draw(3)));
    if (project.is_department || departments_ == 0 || draw(4) == 0) return;
    owner.above = draw(departments_);
    project.department = projects_[owner.above].name;
  }

  /// Whether the quota of its department covers those of all its projects: then its own quota alone counts.
  bool stays_within_guarantees(std::size_t owner) const {
    const std::size_t above = owners_[owner].above;
    if (above == QuotaOwner::kTop) return true;
    std::int64_t below = 0;
    for (const QuotaOwner& each : owners_) below += each.above == above ? each.quota : 0;
    return below <= owners_[above].quota;
  }

  void add_demand(std::size_t owner, const Wish& wish) {
    if (wish.kind == JobKind::Training) preemptible_[owner] += wish.subtasks;
    for (std::size_t at = owner; at != QuotaOwner::kTop; at = owners_[at].above) owners_[at].request += wish.subtasks;
  }

  Rng draw_;
  std::size_t departments_ = 0;
  std::vector<ProjectConfig> projects_;
  std::vector<QuotaOwner> owners_;
  std::vector<std::int64_t> preemptible_;  ///< By owner: the demand of jobs that may be preempted.
  LiveCluster cluster_;
  std::int64_t devices_ = 0;
  std::vector<Job> jobs_;
};

/// For failures: what everybody is due, holds and wants.
std::string table_of(const QuotaCluster& random) {
  const std::vector<QuotaOwner> owners = random.shares();
  const std::vector<Held> held = random.held();
  std::string text = std::to_string(random.devices()) + " devices";
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const QuotaOwner& each = owners[i];
    text += "\n" + random.name(i) + (each.above == QuotaOwner::kTop ? "" : " of " + random.name(each.above)) +
            ": quota " + std::to_string(each.quota) +
            (each.limit == QuotaOwner::kNoLimit ? "" : ", limit " + std::to_string(each.limit)) + ", weight " +
            std::to_string(each.weight) + ", priority " + std::to_string(each.priority) + ", wants " +
            std::to_string(each.request) + ", is due " + std::to_string(each.share) + ", holds " +
            std::to_string(held[i].all) + ", for good " + std::to_string(held[i].for_good);
  }
  return text;
}

/// Whether the guarantees of the owner's siblings can all be met, and so at each level above. Where they cannot, the
/// first to take them has them.
bool can_be_met(const QuotaCluster& random, const std::vector<QuotaOwner>& owners, std::size_t owner) {
  for (std::size_t at = owner; at != QuotaOwner::kTop; at = owners[at].above) {
    const std::size_t above = owners[at].above;
    std::int64_t due = 0;
    for (const QuotaOwner& each : owners) due += each.above == above ? each.share : 0;
    if (due > (above == QuotaOwner::kTop ? random.devices() : owners[above].share)) return false;
  }
  return true;
}

/// Whether the quotas of all parts up to that owner above are within its own: else the first to take it have it.
bool quotas_fit(const std::vector<QuotaOwner>& owners, std::size_t owner, std::size_t top) {
  for (std::size_t at = owner; at != top; at = owners[at].above) {
    std::int64_t quotas = 0;
    for (const QuotaOwner& each : owners) quotas += each.above == owners[at].above ? each.quota : 0;
    if (quotas > owners[owners[at].above].quota) return false;
  }
  return true;
}

/// The devices that a project holds in the end, at least. Beyond quotas, a sibling of a higher priority that wants more
/// than its share is served first, also when it has just been a victim. Spec: policy-runai 5 rule 3, 9 c.
std::int64_t surely_held(const QuotaCluster& random, const std::vector<QuotaOwner>& owners, std::size_t owner) {
  if (!can_be_met(random, owners, owner)) return 0;
  std::int64_t due = std::min(owners[owner].share, random.usable(owner));
  for (std::size_t at = owner; at != QuotaOwner::kTop; at = owners[at].above)
    for (std::size_t other = 0; other < owners.size(); ++other)
      if (owners[other].above == owners[at].above && owners[other].priority > owners[at].priority &&
          owners[other].requestable() > owners[other].share)
        due = quotas_fit(owners, owner, at) ? std::min(due, owners[owner].quota) : 0;
  return due;
}

/// Projects hold their shares, no device is idle that a project may use, and no limit is passed.
void expect_shares(const QuotaCluster& random, const std::string& where) {
  const std::vector<QuotaOwner> owners = random.shares();
  const std::vector<Held> held = random.held();
  std::int64_t usable = 0;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    EXPECT_LE(held[i].all, owners[i].limit) << where << ", " << random.name(i);
    EXPECT_LE(held[i].for_good, owners[i].quota) << where << ", " << random.name(i);
    if (i >= random.departments()) {
      EXPECT_GE(held[i].all, surely_held(random, owners, i)) << where << ", " << random.name(i);
    }
    if (owners[i].above != QuotaOwner::kTop) continue;
    usable += random.usable(i);
    all += held[i].all;
  }
  EXPECT_EQ(all, std::min(usable, random.devices())) << where;
}

/// In a project no job waits, which may have devices, while one of a smaller rank that may be preempted has some.
void expect_order(QuotaCluster& random, const std::string& where) {
  const std::vector<QuotaOwner> owners = random.shares();
  const std::vector<Held> held = random.held();
  for (const QuotaCluster::Job& waits : random.jobs()) {
    if (running(random.live(), waits.id) == waits.wish.subtasks) continue;
    if (!waits.is_preemptible() && held[waits.owner].for_good >= owners[waits.owner].quota) continue;
    for (const QuotaCluster::Job& runs : random.jobs()) {
      if (runs.owner != waits.owner || !runs.is_preemptible() || running(random.live(), runs.id) == 0) continue;
      EXPECT_GE(runs.rank(), waits.rank()) << where << ", " << runs.wish.name << " runs before " << waits.wish.name;
    }
  }
}

TEST(LiveQuotaModel, ProjectsHoldTheirSharesInTheOrderOfTheirJobs) {
  for (const std::uint64_t seed : live_seeds(200)) {
    QuotaCluster random{seed};
    random.submit_all();
    random.live().advance(60s);
    const std::string where = "seed " + std::to_string(seed);
    SCOPED_TRACE(table_of(random));
    expect_shares(random, where);
    expect_order(random, where);
    // An alert tells of jobs where nothing runs at all, because no guarantee or limit admits any of them.
    EXPECT_TRUE(random.live().troubles().empty() || random.live().runs().empty()) << where;
  }
}

}  // namespace
}  // namespace penstock::tools
