#include "supervisor/policy/ordering/victim_order.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace penstock::policy {
namespace {

/// The amounts that decide between owners that are equal otherwise, without bound the largest.
std::array<std::int64_t, kResources> allocatable(const Owner& owner) {
  std::array<std::int64_t, kResources> amounts{};
  for (std::size_t resource = 0; resource < kResources; ++resource) {
    const std::int64_t amount = owner.of[resource].allocatable();
    amounts[resource] = amount == kUnlimited ? INT64_MAX : amount;
  }
  return amounts;
}

/// Whether of any two of them one has at least as much of everything. Otherwise `compare_ranks` may go round in a
/// circle, and no order of all of them exists.
bool are_comparable(std::vector<std::array<std::int64_t, kResources>> all) {
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i)
    for (std::size_t resource = 0; resource < kResources; ++resource)
      if (all[i - 1][resource] > all[i][resource]) return false;
  return true;
}

}  // namespace

void VictimOrder::Line::clear() {
  began = ended = is_ranked = false;
  order.clear();
  looked_at = left = 0;
  gone = {};
  shares.clear();
  children.clear();
  unseen.clear();
  ranking.clear();
}

VictimOrder::VictimOrder(const WorkloadOrder& order)
    : order_(order),
      trial_(order.trial()),
      tree_(order.tree()),
      all_(static_cast<std::uint32_t>(trial_.owners().size())),
      leaves_(trial_.owners().size()),
      lines_(trial_.owners().size() + 1),
      taken_(trial_.snapshot().members.size(), false) {}

bool VictimOrder::has_victims(std::uint32_t owner) const { return !is_leaf(owner) || leaves_[owner].any; }

/// Siblings are merged anew where one with victims has changed: its own sums count there.
void VictimOrder::forget_above(std::uint32_t project) {
  for (std::uint32_t at = project; at != kNone; at = trial_.owners()[at].parent) {
    const std::uint32_t parent = trial_.owners()[at].parent;
    lines_[at].shares.clear();
    lines_[at].gone = {};
    if (has_victims(at)) lines_[parent == kNone ? all_ : parent].clear();
  }
}

void VictimOrder::project_changed(std::uint32_t project, const std::vector<std::uint32_t>& jobs) {
  if (!is_leaf(project)) return;
  Leaf& leaf = leaves_[project];
  forget_above(project);
  for (const VictimPiece& piece : leaf.pieces)
    for (const std::uint32_t member : piece.members) taken_[member] = false;
  leaf = {};
  lines_[project].clear();
  leaf.sorted = &jobs;
  leaf.any = !jobs.empty();
  forget_above(project);
  if (only_project_ == project) choose_only(project);
}

void VictimOrder::choose_only(std::uint32_t project) {
  only_project_ = project;
  only_.clear();
  only_looked_at_ = 0;
}

void VictimOrder::choose(const VictimChoice& choice, std::function<bool(std::uint32_t)> admits) {
  admits_ = std::move(admits);
  choose_only(choice.only_project);
  if (choice.only_project != kNone) return;
  if (choice.name != merged_.name) {
    for (Line& line : lines_) line.clear();
  } else if (choice.not_project != merged_.not_project) {
    if (merged_.not_project != kNone) forget_above(merged_.not_project);
    if (choice.not_project != kNone) forget_above(choice.not_project);
  }
  merged_ = choice;
}

const VictimPiece* VictimOrder::at(std::size_t position) {
  if (only_project_ != kNone) {
    while (only_.size() <= position) {
      const VictimPiece* next = next_admitted(only_project_, only_looked_at_);
      if (next == nullptr) return nullptr;
      only_.push_back(next);
    }
    return only_[position];
  }
  Line& all = lines_[all_];
  while (all.order.size() <= position && !all.ended) extend(all_);
  return position < all.order.size() ? all.order[position] : nullptr;
}

std::optional<std::uint32_t> VictimOrder::take_job(Leaf& leaf) {
  if (leaf.sorted == nullptr) return std::nullopt;
  const auto is_later = [this](const Entry& a, const Entry& b) {
    return order_.before(a.job, b.job, a.state, b.state);
  };
  const bool any_sorted = leaf.next_sorted < leaf.sorted->size();
  if (!any_sorted && leaf.jobs.empty()) return std::nullopt;
  if (any_sorted) {
    const std::uint32_t first = (*leaf.sorted)[leaf.next_sorted];
    if (leaf.jobs.empty() || is_later(leaf.jobs.front(), {first, order_.state(first)})) {
      ++leaf.next_sorted;
      return first;
    }
  }
  const std::uint32_t job = leaf.jobs.front().job;
  std::pop_heap(leaf.jobs.begin(), leaf.jobs.end(), is_later);
  leaf.jobs.pop_back();
  return job;
}

bool VictimOrder::extend_leaf(std::uint32_t project) {
  Leaf& leaf = leaves_[project];
  const WorkloadOrder::Waits there = [this](std::uint32_t member) { return is_there(member); };
  while (const std::optional<std::uint32_t> job = take_job(leaf)) {
    VictimPiece piece{*job, order_.next_victims(*job, there), {}, project};
    if (piece.members.empty()) continue;
    for (const std::uint32_t member : piece.members) {
      taken_[member] = true;
      piece.amount += trial_.amount(member);
    }
    const std::vector<std::uint32_t>& all = order_.members(*job);
    if (all.size() == 1) piece.only_band = trial_.holdings(all.front()).band;
    if (all.size() > 1 && std::any_of(all.begin(), all.end(), there)) {
      leaf.jobs.push_back({*job, order_.state(*job, there)});
      std::push_heap(leaf.jobs.begin(), leaf.jobs.end(),
                     [this](const Entry& a, const Entry& b) { return order_.before(a.job, b.job, a.state, b.state); });
    }
    leaf.pieces.push_back(std::move(piece));
    return true;
  }
  return false;
}

const VictimPiece* VictimOrder::next_admitted(std::uint32_t project, std::size_t& looked_at) {
  const Leaf& leaf = leaves_[project];
  while (looked_at < leaf.pieces.size() || extend_leaf(project)) {
    const VictimPiece& piece = leaf.pieces[looked_at++];
    if (admits_(piece.workload)) return &piece;
  }
  return nullptr;
}

const Fraction& VictimOrder::share_after(std::uint32_t owner, std::size_t position) {
  Line& line = lines_[owner];
  while (line.shares.size() <= position) {
    line.gone += line.order[line.shares.size()]->amount;
    line.shares.push_back(share_with(trial_.owners()[owner], Resources{} - line.gone, trial_.total()));
  }
  return line.shares[position];
}

/// Orders siblings by all that stays the same while pieces are taken.
void VictimOrder::rank_children(Line& line) const {
  std::vector<std::array<std::int64_t, kResources>> amounts;
  for (const Child& child : line.children) amounts.push_back(allocatable(trial_.owners()[child.owner]));
  line.is_ranked = are_comparable(std::move(amounts));
  if (!line.is_ranked) return;
  std::vector<std::size_t> served(line.children.size());
  std::iota(served.begin(), served.end(), std::size_t{0});
  std::sort(served.begin(), served.end(), [&line](std::size_t a, std::size_t b) {
    const ProjectRank& left = line.children[a].rank;
    const ProjectRank& right = line.children[b].rank;
    int order = compare_standing(left, right);
    if (order == 0) order = compare_ties(left, right);
    return order != 0 ? order < 0 : line.children[a].owner < line.children[b].owner;
  });
  for (std::uint32_t i = 0; i < served.size(); ++i) {
    Child& child = line.children[served[i]];
    child.tie = i;
    if (i == 0) continue;
    const Child& before = line.children[served[i - 1]];
    child.standing = before.standing + (compare_standing(before.rank, child.rank) != 0 ? 1 : 0);
  }
}

void VictimOrder::begin(std::uint32_t owner) {
  Line& line = lines_[owner];
  line.began = true;
  for (const std::uint32_t child : owner == all_ ? tree_.roots : tree_.children[owner])
    if (child != merged_.not_project && has_victims(child))
      line.children.push_back(
          {.owner = child, .rank = rank_project({&trial_.owners()[child], {}, {}}, trial_.total())});
  for (std::size_t i = 0; i < line.children.size(); ++i) line.unseen.push_back(i);
  line.left = line.second = line.best = line.children.size();
  rank_children(line);
}

/// Finds the piece at the child's cursor, if there is one. False: the child has to know more first.
bool VictimOrder::look_at(Child& child) {
  Line& line = lines_[child.owner];
  if (line.order.size() <= child.cursor && !line.ended) {
    if (!is_leaf(child.owner)) return false;
    const VictimPiece* next = next_admitted(child.owner, line.looked_at);
    if (next != nullptr)
      line.order.push_back(next);
    else
      line.ended = true;
  }
  child.ended = line.order.size() <= child.cursor;
  if (!child.ended) child.rank.with_job = share_after(child.owner, child.cursor);
  return true;
}

/// False: a child was opened that has to know more first.
bool VictimOrder::look_at_children(std::uint32_t owner) {
  Line& line = lines_[owner];
  while (!line.unseen.empty()) {
    const std::size_t index = line.unseen.back();
    Child& child = line.children[index];
    if (!look_at(child)) {
      open_.push_back(child.owner);
      return false;
    }
    line.unseen.pop_back();
    if (!child.ended) {
      if (line.is_ranked) file(line, index);
      continue;
    }
    --line.left;
    line.second = line.best = line.children.size();
  }
  return true;
}

void VictimOrder::file(Line& line, std::size_t index) const {
  const auto at =
      std::upper_bound(line.ranking.begin(), line.ranking.end(), index,
                       [&line](std::size_t a, std::size_t b) { return is_first(line.children[b], line.children[a]); });
  line.ranking.insert(at, index);
}

/// Of siblings that are ranked.
bool VictimOrder::is_first(const Child& a, const Child& b) {
  if (a.standing != b.standing) return a.standing > b.standing;
  if (b.rank.with_job < a.rank.with_job) return true;
  return !(a.rank.with_job < b.rank.with_job) && a.tie > b.tie;
}

/// Only the child that was taken from last has changed: mostly it is compared with the next one alone.
void VictimOrder::find_best(Line& line) {
  if (line.is_ranked) {
    line.best = line.ranking.back();
    return;
  }
  const auto comes_first = [&line](std::size_t a, std::size_t b) {
    const int order = compare_ranks(line.children[a].rank, line.children[b].rank);
    return !(order != 0 ? order < 0 : line.children[a].owner < line.children[b].owner);
  };
  const std::size_t none = line.children.size();
  if (line.best < none && line.second < none && comes_first(line.best, line.second)) return;
  line.best = line.second = none;
  for (std::size_t i = 0; i < none; ++i) {
    if (line.children[i].ended) continue;
    if (line.best == none || comes_first(i, line.best))
      line.second = std::exchange(line.best, i);
    else if (line.second == none || comes_first(i, line.second))
      line.second = i;
  }
}

void VictimOrder::extend(std::uint32_t owner) {
  open_.assign(1, owner);
  while (!open_.empty()) {
    const std::uint32_t at = open_.back();
    Line& line = lines_[at];
    if (!line.began) begin(at);
    if (!look_at_children(at)) continue;
    open_.pop_back();
    if (line.left == 0) {
      line.ended = true;
      continue;
    }
    find_best(line);
    Child& best = line.children[line.best];
    line.order.push_back(lines_[best.owner].order[best.cursor]);
    ++best.cursor;
    line.unseen.push_back(line.best);
    if (line.is_ranked) line.ranking.pop_back();
  }
}

}  // namespace penstock::policy
