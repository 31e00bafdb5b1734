// Jobs in the order in which they are served, or taken from, across a tree of projects.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "supervisor/policy/ordering/project_order.hpp"
#include "supervisor/policy/ordering/workload_order.hpp"

namespace penstock::policy {

/// From which end.
enum class Direction : std::uint8_t { Serve, TakeFrom };

/// Picks one job after the other: the best root, its best child, down to a project, its best job. Follows the sums of
/// the trial, so that an owner that was just served moves back. Cost of a pick: the siblings on the way, unless nothing
/// changed. Spec: policy-runai 5.
class Agenda {
 public:
  Agenda(const WorkloadOrder& order, Direction direction, WorkloadOrder::Waits takes_part);

  /// Takes all jobs out, so that others can be added. Cost: O(owners of those that were added).
  void clear();
  void add(std::uint32_t workload);
  /// The same for many, before anything is taken. Cost: O(n).
  void add_all(const std::vector<std::uint32_t>& workloads);
  /// Taking: adds jobs of one project in the order in which they are taken, as the trial is now. A job that is not
  /// admitted is passed over. REQUIRES: before anything is taken; `workloads` outlives the agenda.
  void add_sorted(std::uint32_t project, const std::vector<std::uint32_t>& workloads);
  void admit_only(std::function<bool(std::uint32_t)> admits) { admits_ = std::move(admits); }
  /// Whether `a` is taken before `b`, as the trial is now.
  static bool taken_before(const WorkloadOrder& order, std::uint32_t a, std::uint32_t b) {
    return order.before(b, a, order.state(b), order.state(a));
  }
  /// The next job, taken out; none when all are through.
  std::optional<std::uint32_t> take();
  /// Taking: records that this amount of a project is chosen and counts as gone.
  void chosen(std::uint32_t project, const Resources& amount);

 private:
  /// A job of the agenda. Taking: with its state by the members that are not taken yet; serving looks that up.
  struct Entry {
    std::uint32_t job = kNone;
    GangState state = GangState::AtMin;
  };
  /// One project or department.
  struct Node {
    std::vector<Entry> jobs;                             ///< A heap.
    const std::vector<std::uint32_t>* sorted = nullptr;  ///< More of them, in order.
    std::size_t next_sorted = 0;
    bool best_is_sorted = false;
    Resources gone;  ///< Chosen from it and its descendants.
    // The result for these versions of the owner's sums and of its own.
    std::uint64_t owner_version = ~std::uint64_t{0};
    std::uint64_t version = 0;
    std::uint64_t seen_version = ~std::uint64_t{0};
    std::uint32_t best_job = kNone;
    Resources change;  ///< The next job's, or the amount to be taken from it.
    ProjectRank rank;  ///< Against its siblings, with that change.
  };

  void refresh(std::uint32_t project);
  void look_again(std::uint32_t project);
  void refresh_all();
  bool first(std::uint32_t a, std::uint32_t b) const;
  bool is_later(const Entry& a, const Entry& b) const;
  bool find_best_job(Node& node) const;
  void touch(std::uint32_t project);
  Resources change_of(std::uint32_t workload) const;

  const WorkloadOrder& order_;
  const Trial& trial_;
  Direction direction_;
  WorkloadOrder::Waits takes_part_;
  const OwnerTree& tree_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> live_;               ///< Owners that have had a job below them, the deepest first.
  std::uint64_t seen_trial_ = ~std::uint64_t{0};  ///< Version of the trial when all were looked at.
  std::uint32_t touched_ = kNone;                 ///< Since then.
  bool several_touched_ = false;
  std::function<bool(std::uint32_t)> admits_;  ///< Of the sorted ones.
};

}  // namespace penstock::policy
