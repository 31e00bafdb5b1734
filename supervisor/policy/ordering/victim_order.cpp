#include "supervisor/policy/ordering/victim_order.hpp"

#include <algorithm>

namespace penstock::policy {

VictimOrder::VictimOrder(const WorkloadOrder& order)
    : order_(order),
      trial_(order.trial()),
      tree_(order.tree()),
      all_(static_cast<std::uint32_t>(trial_.owners().size())),
      leaves_(trial_.owners().size()),
      merges_(trial_.owners().size() + 1),
      taken_(trial_.snapshot().members.size(), false) {}

bool VictimOrder::has_victims(std::uint32_t owner) const { return !is_leaf(owner) || leaves_[owner].any; }

/// Siblings are merged anew where one with victims has changed: its own sums count there.
void VictimOrder::forget_above(std::uint32_t project) {
  for (std::uint32_t at = project; at != kNone; at = trial_.owners()[at].parent) {
    const std::uint32_t parent = trial_.owners()[at].parent;
    if (has_victims(at)) merges_[parent == kNone ? all_ : parent] = {};
  }
}

void VictimOrder::project_changed(std::uint32_t project, const std::vector<std::uint32_t>& jobs) {
  if (!is_leaf(project)) return;
  Leaf& leaf = leaves_[project];
  forget_above(project);
  for (const VictimPiece& piece : leaf.pieces)
    for (const std::uint32_t member : piece.members) taken_[member] = false;
  leaf = {};
  leaf.sorted = &jobs;
  leaf.any = !jobs.empty();
  forget_above(project);
  if (only_project_ == project) choose_only(project);
}

void VictimOrder::choose_only(std::uint32_t project) {
  only_project_ = project;
  only_.clear();
  only_cursor_ = 0;
}

void VictimOrder::choose(const VictimChoice& choice, std::function<bool(std::uint32_t)> admits) {
  admits_ = std::move(admits);
  choose_only(choice.only_project);
  if (choice.only_project != kNone) return;
  if (choice.name != merged_.name) {
    for (Merge& merge : merges_) merge = {};
  } else if (choice.not_project != merged_.not_project) {
    if (merged_.not_project != kNone) forget_above(merged_.not_project);
    if (choice.not_project != kNone) forget_above(choice.not_project);
  }
  merged_ = choice;
}

const VictimPiece* VictimOrder::at(std::size_t position) {
  if (const std::uint32_t project = only_project_; project != kNone) {
    while (only_.size() <= position) {
      if (leaves_[project].pieces.size() <= only_cursor_ && !extend_leaf(project)) return nullptr;
      const PieceName name{project, only_cursor_++};
      if (admits_(piece(name).workload)) only_.push_back(name);
    }
    return &piece(only_[position]);
  }
  Merge& all = merges_[all_];
  while (all.order.size() <= position && !all.ended) extend(all_);
  return position < all.order.size() ? &piece(all.order[position]) : nullptr;
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

void VictimOrder::begin(std::uint32_t owner) {
  Merge& merge = merges_[owner];
  merge.began = true;
  for (const std::uint32_t child : owner == all_ ? tree_.roots : tree_.children[owner])
    if (child != merged_.not_project && has_victims(child)) merge.children.push_back({.owner = child});
  for (std::size_t i = 0; i < merge.children.size(); ++i) merge.unseen.push_back(i);
  merge.second = merge.best = merge.children.size();
}

/// Finds the piece at the child's cursor. False: the child has to know more first; `is_known` then says nothing.
bool VictimOrder::look_at(Child& child, bool& is_known) {
  const VictimPiece* next = nullptr;
  if (is_leaf(child.owner)) {
    const Leaf& leaf = leaves_[child.owner];
    for (;; ++child.cursor) {
      if (leaf.pieces.size() <= child.cursor && !extend_leaf(child.owner)) break;
      if (!admits_(leaf.pieces[child.cursor].workload)) continue;
      next = &leaf.pieces[child.cursor];
      break;
    }
  } else {
    const Merge& merge = merges_[child.owner];
    if (merge.order.size() <= child.cursor && !merge.ended) return false;
    if (child.cursor < merge.order.size()) next = &piece(merge.order[child.cursor]);
  }
  is_known = next != nullptr;
  if (next == nullptr) return true;
  child.next = next->amount;
  const Owner& owner = trial_.owners()[child.owner];
  const Resources change = Resources{} - child.next - child.gone;
  if (child.ranked)
    child.rank.with_job = share_with(owner, change, trial_.total());
  else
    child.rank = rank_project({&owner, {}, change}, trial_.total());
  child.ranked = true;
  return true;
}

/// False: a child was opened that has to know more first.
bool VictimOrder::look_at_children(std::uint32_t owner, std::vector<std::uint32_t>& open) {
  Merge& merge = merges_[owner];
  while (!merge.unseen.empty()) {
    const std::size_t index = merge.unseen.back();
    bool has_next = false;
    if (!look_at(merge.children[index], has_next)) {
      open.push_back(merge.children[index].owner);
      return false;
    }
    merge.unseen.pop_back();
    if (has_next) continue;
    merge.children.erase(merge.children.begin() + static_cast<std::ptrdiff_t>(index));
    merge.second = merge.best = merge.children.size();
    for (std::size_t& other : merge.unseen)
      if (other > index) --other;
  }
  return true;
}

bool VictimOrder::is_first(const Child& a, const Child& b) const {
  const int order = compare_ranks(a.rank, b.rank);
  return !(order != 0 ? order < 0 : a.owner < b.owner);
}

/// Only the child that was taken from last has changed: mostly it is compared with the next one alone.
void VictimOrder::find_best(Merge& merge) {
  const std::size_t none = merge.children.size();
  if (merge.best < none && merge.second < none) {
    if (is_first(merge.children[merge.best], merge.children[merge.second])) return;
  }
  merge.best = merge.second = none;
  for (std::size_t i = 0; i < none; ++i) {
    if (merge.best == none || is_first(merge.children[i], merge.children[merge.best]))
      merge.second = std::exchange(merge.best, i);
    else if (merge.second == none || is_first(merge.children[i], merge.children[merge.second]))
      merge.second = i;
  }
}

void VictimOrder::extend(std::uint32_t owner) {
  std::vector<std::uint32_t> open{owner};
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    Merge& merge = merges_[at];
    if (!merge.began) begin(at);
    if (!look_at_children(at, open)) continue;
    open.pop_back();
    if (merge.children.empty()) {
      merge.ended = true;
      continue;
    }
    find_best(merge);
    Child& best = merge.children[merge.best];
    merge.order.push_back(is_leaf(best.owner) ? PieceName{best.owner, best.cursor}
                                              : merges_[best.owner].order[best.cursor]);
    best.gone += best.next;
    ++best.cursor;
    merge.unseen.push_back(merge.best);
  }
}

}  // namespace penstock::policy
