// A random cluster under one preset, with jobs that hold their slots, on the production cores in virtual time.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/rng.hpp"
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {

enum class DrawnJobs : std::uint8_t {
  Plain,   ///< Single subtasks of one slot each, without gangs, limits or parts of devices.
  Mixed,   ///< With all of these.
  Shapes,  ///< And gangs of subtasks that want different numbers of slots.
};

/// A cluster drawn from a seed, with jobs that hold their slots until the test ends them.
class RandomCluster {
 public:
  RandomCluster(std::uint64_t seed, const std::string& preset, DrawnJobs kind)
      : draw_(seed), draw_shape_(seed + kShapeSeed), kind_(kind), preset_(preset), cluster_(config()) {
    const std::size_t hosts = 1 + draw(3);
    for (std::size_t i = 0; i < hosts; ++i) {
      const std::string name = "w" + std::to_string(i + 1);
      const auto slots = static_cast<std::int64_t>(1 + draw(is_plain() ? 6 : 8));
      on_gpu_ ? cluster_.join(gpu_worker(name, static_cast<std::size_t>(slots)))
              : cluster_.join(cpu_worker(name, slots));
      slots_ += slots;
      slots_of_[name] = on_gpu_ ? 1 : slots;
      bands_.insert(bands_.end(), on_gpu_ ? static_cast<std::size_t>(slots) : 1, on_gpu_ ? 1 : slots);
    }
  }

  void submit_and_end() {
    const std::size_t jobs = 2 + draw(7);
    for (std::size_t i = 0; i < jobs; ++i) {
      jobs_.push_back(draw_job(i));
      ids_.push_back(submit(cluster_, jobs_.back(), others_.back()));
      if (draw(2) == 0) cluster_.advance(std::chrono::milliseconds{10 + draw(2000)});
      if (!is_plain() && draw(3) == 0 && !cluster_.runs().empty()) {
        auto run = cluster_.runs().begin();
        std::advance(run, static_cast<std::ptrdiff_t>(draw(cluster_.runs().size())));
        ++ended_[run->first.job];
        cluster_.end(run->first);
      }
    }
  }

  std::size_t draw(std::size_t below) { return static_cast<std::size_t>(draw_.below(below)); }
  LiveCluster& live() { return cluster_; }
  bool is_on_gpu() const { return on_gpu_; }
  const std::vector<Wish>& jobs() const { return jobs_; }
  JobId id(std::size_t job) const { return ids_[job]; }
  std::int64_t slots() const { return slots_; }
  /// Of each band of that worker.
  std::int64_t slots_of(const std::string& worker) const { return slots_of_.at(worker); }
  const std::vector<ProjectConfig>& projects() const { return projects_; }

  const OtherShape& other_shape(std::size_t job) const { return others_[job]; }
  /// How many of its subtasks of the first shape all bands could run if it were alone.
  std::size_t most_runs(std::size_t job) const {
    std::int64_t runs = 0;
    for (const std::int64_t slots : bands_) runs += slots * 1000 / jobs_[job].milli;
    return static_cast<std::size_t>(runs);
  }
  /// Its subtasks that have not ended.
  std::size_t left(std::size_t job) const {
    const auto ended = ended_.find(ids_[job]);
    return jobs_[job].subtasks + others_[job].subtasks - (ended == ended_.end() ? 0 : ended->second);
  }
  /// The attempts that run.
  std::map<SubtaskId, Attempt> attempts() const {
    std::map<SubtaskId, Attempt> all;
    for (const auto& [subtask, run] : cluster_.runs()) all[subtask] = run.attempt;
    return all;
  }
  /// Thousandths of slots that run, by worker and band.
  std::map<std::pair<std::string, std::uint32_t>, std::int64_t> used() const {
    std::map<std::pair<std::string, std::uint32_t>, std::int64_t> sums;
    for (const auto& [subtask, run] : cluster_.runs())
      for (std::size_t i = 0; i < ids_.size(); ++i)
        if (ids_[i] == subtask.job)
          sums[{cluster_.name_of(run.worker), run.band.value()}] += milli_of(i, subtask.index.value());
    return sums;
  }

 private:
  static constexpr std::uint64_t kShapeSeed = 1'000'000'007;

  bool is_plain() const { return kind_ == DrawnJobs::Plain; }
  SupervisorConfig config() {
    SupervisorConfig config = config_of(preset_);
    config.policy.period = 1s;
    on_gpu_ = draw(3) == 0;
    if (preset_ == "priority") config.policy.pools[0].preemption = draw(2) == 0;
    preemption_ = preset_ != "priority" || *config.policy.pools[0].preemption;
    const std::size_t projects = preset_ == "quota" ? 1 + draw(3) : is_plain() ? 0 : draw(3);
    for (std::size_t i = 0; i < projects; ++i) {
      ProjectConfig& project = projects_.emplace_back();
      project.name = "p" + std::to_string(i);
      project.weight = static_cast<std::int64_t>(1000 * (1 + draw(3)));
      project.guaranteed_slots = project.guaranteed_gpu_slots = static_cast<std::int64_t>(draw(4));
      if (!is_plain() && draw(4) == 0)
        project.slots_max = project.gpu_slots_max = project.guaranteed_slots + static_cast<std::int64_t>(draw(3));
    }
    config.policy.projects = projects_;
    return config;
  }

  std::int64_t milli_of(std::size_t job, std::uint32_t subtask) const {
    return subtask < jobs_[job].subtasks ? jobs_[job].milli : others_[job].milli;
  }

  Wish draw_job(std::size_t number) {
    OtherShape& other = others_.emplace_back();
    Wish wish{.name = "j" + std::to_string(number)};
    wish.subtasks = static_cast<std::uint32_t>(1 + draw(12));
    wish.on_gpu = on_gpu_;
    wish.priority = static_cast<std::int32_t>(draw(3));
    if (draw(2) == 0) wish.weight = static_cast<std::int64_t>(1000 * (1 + draw(3)));
    if (!projects_.empty()) wish.project = projects_[draw(projects_.size())].name;
    if (is_plain()) return wish;
    wish.waits_for_resources = true;
    if (on_gpu_ && draw(2) == 0) wish.milli = std::int64_t{250} << draw(3);
    if (!on_gpu_ && draw(3) == 0) wish.milli = std::int64_t{1000} << draw(3);
    if (draw(4) == 0) {
      wish.subtasks = static_cast<std::uint32_t>(2 + draw(4));
      wish.milli = 1000;
      wish.gang = wish.subtasks;
      if (draw(2) == 0) wish.gang_max = wish.gang + static_cast<std::uint32_t>(1 + draw(4)), wish.subtasks += 6;
    }
    if (preset_ == "quota" && draw(4) == 0) wish.kind = JobKind::Interactive;
    if (kind_ == DrawnJobs::Shapes && draw_shape_.chance(2, 3)) shape(wish, other);
    return wish;
  }

  /// The job becomes a gang of two shapes, each subtask counted by the larger one (docs/decisions/0014).
  void shape(Wish& wish, OtherShape& other) {
    wish.subtasks = static_cast<std::uint32_t>(draw_shape_.between(1, 3));
    other.subtasks = static_cast<std::uint32_t>(draw_shape_.between(1, 3));
    wish.milli = on_gpu_ ? std::int64_t{250} << draw_shape_.below(3) : 1000;
    other.milli = on_gpu_ ? 1000 : wish.milli * draw_shape_.between(1, 3);
    const std::int64_t slots = std::max(wish.milli, other.milli) * (wish.subtasks + other.subtasks);
    wish.gang = static_cast<std::uint32_t>((slots + 999) / 1000);
    wish.gang_max = 0;
  }

  Rng draw_;
  Rng draw_shape_;  ///< Of its own, so that the other draws of a seed stay as they are.
  const DrawnJobs kind_;
  const std::string preset_;
  bool on_gpu_ = false;
  bool preemption_ = true;
  std::vector<ProjectConfig> projects_;
  LiveCluster cluster_;
  std::int64_t slots_ = 0;
  std::map<std::string, std::int64_t> slots_of_;
  std::vector<std::int64_t> bands_;  ///< Slots of each.
  std::vector<Wish> jobs_;
  std::vector<OtherShape> others_;  ///< By job.
  std::vector<JobId> ids_;
  std::map<JobId, std::size_t> ended_;  ///< How many of its subtasks.
};

inline const std::vector<std::string> kPresets{"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"};

}  // namespace penstock::tools
