// The order in which members are taken from all jobs, kept between searches that look for victims.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "supervisor/policy/ordering/agenda.hpp"
#include "supervisor/policy/ordering/project_order.hpp"
#include "supervisor/policy/ordering/workload_order.hpp"

namespace penstock::policy {

/// Members of one job that leave together.
struct VictimPiece {
  std::uint32_t workload = kNone;
  std::vector<std::uint32_t> members;
  Resources amount;
  std::uint32_t project = kNone;
  std::uint32_t only_band = kNone;  ///< Of a job that has one member: its band.
};

/// A choice among the jobs that hold something.
struct VictimChoice {
  std::uint32_t only_project = kNone;  ///< The projects that members may be taken from: one,
  std::uint32_t not_project = kNone;   ///< or all but one.
  /// Choices with equal names admit the same jobs, those of `not_project` aside.
  std::uint64_t name = 0;
  friend bool operator==(const VictimChoice&, const VictimChoice&) = default;
};

/// The pieces that an `Agenda` takes, in its order, if all of each piece is chosen. The order within a project or a
/// department is its own, so that a change of one leaves the others as they are. Found as far as it is
/// asked for. Owned by one pass; the trial must be as it was at the last change that was told, whenever it is asked.
/// An owner's shares while its pieces are taken depend on no other owner: a merge of siblings finds them ready.
/// Cost: O(log siblings) for each piece that is new; O(1) for one that is known. Spec: policy-runai 5.
class VictimOrder {
 public:
  explicit VictimOrder(const WorkloadOrder& order);

  /// The sums of a project have changed, and these jobs of it hold something, sorted by `Agenda::taken_before`. The
  /// list must outlive this.
  void project_changed(std::uint32_t project, const std::vector<std::uint32_t>& jobs);
  /// The questions that follow are about this choice.
  void choose(const VictimChoice& choice, std::function<bool(std::uint32_t workload)> admits);
  /// The piece that is taken after `position` others; none: there are no more. Stays until its project changes.
  const VictimPiece* at(std::size_t position);

 private:
  /// A project or department among its siblings.
  struct Child {
    std::uint32_t owner = kNone;
    std::size_t cursor = 0;  ///< In its own line.
    bool ended = false;      ///< No piece is at the cursor.
    ProjectRank rank;
    std::uint32_t standing = 0;  ///< Larger is served later, so that it is taken from first; the share decides next,
    std::uint32_t tie = 0;       ///< and then this, of which no two siblings have the same.
  };
  /// The admitted pieces of a project, or of a department with its children merged, or of all together.
  struct Line {
    bool began = false;
    bool ended = false;
    std::vector<const VictimPiece*> order;
    std::size_t looked_at = 0;     ///< Of a project: pieces that were asked for admission.
    Resources gone;                ///< With so many pieces as there are shares.
    std::vector<Fraction> shares;  ///< Its dominant share after each of its pieces.
    std::vector<Child> children;
    std::vector<std::size_t> unseen;  ///< Children that have moved on and were not looked at yet.
    std::size_t left = 0;             ///< Children that have not ended.
    bool is_ranked = false;
    std::vector<std::size_t> ranking;  ///< If ranked: children that were looked at, the one to take from last.
    std::size_t best = 0;
    std::size_t second = 0;  ///< If not: the best of the others; as large as `children`: not known.

    void clear();
  };
  /// A job with its state by the members that are not taken yet.
  struct Entry {
    std::uint32_t job = kNone;
    GangState state = GangState::AtMin;
  };
  struct Leaf {
    const std::vector<std::uint32_t>* sorted = nullptr;
    bool any = false;  ///< As it was told last.
    std::size_t next_sorted = 0;
    std::vector<Entry> jobs;  ///< A heap: jobs of which some members are taken.
    std::deque<VictimPiece> pieces;
  };

  bool is_leaf(std::uint32_t owner) const { return owner != all_ && tree_.children[owner].empty(); }
  bool is_there(std::uint32_t member) const { return is_active(trial_.state(member)) && !taken_[member]; }
  bool has_victims(std::uint32_t owner) const;
  void choose_only(std::uint32_t project);
  void forget_above(std::uint32_t project);
  std::optional<std::uint32_t> take_job(Leaf& leaf);
  bool extend_leaf(std::uint32_t project);
  const VictimPiece* next_admitted(std::uint32_t project, std::size_t& looked_at);
  void begin(std::uint32_t owner);
  void rank_children(Line& line) const;
  /// Makes one more piece of an owner known, or finds that there is none.
  void extend(std::uint32_t owner);
  bool look_at_children(std::uint32_t owner);
  bool look_at(Child& child);
  void file(Line& line, std::size_t index) const;
  static bool is_first(const Child& a, const Child& b);
  static void find_best(Line& line);
  const Fraction& share_after(std::uint32_t owner, std::size_t position);

  const WorkloadOrder& order_;
  const Trial& trial_;
  const OwnerTree& tree_;
  const std::uint32_t all_;          ///< Position in `lines_` of the roots together.
  std::vector<Leaf> leaves_;         ///< By project.
  std::vector<Line> lines_;          ///< By owner.
  std::vector<std::uint32_t> open_;  ///< Owners that are to be extended, the one that needs the next ones first.
  std::vector<bool> taken_;          ///< By member: belongs to a known piece.
  VictimChoice merged_;              ///< The choice of the lines.
  std::function<bool(std::uint32_t)> admits_;
  std::uint32_t only_project_ = kNone;
  std::size_t only_looked_at_ = 0;        ///< Of `only_project_`: pieces of it that were looked at,
  std::vector<const VictimPiece*> only_;  ///< and those that are admitted.
};

}  // namespace penstock::policy
