#include "supervisor/policy/ordering/agenda.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/policy/ordering/project_order.hpp"

namespace penstock::policy {

Agenda::Agenda(const WorkloadOrder& order, Direction direction, WorkloadOrder::Waits takes_part)
    : order_(order),
      trial_(order.trial()),
      direction_(direction),
      takes_part_(std::move(takes_part)),
      nodes_(trial_.owners().size()) {
  const std::vector<Owner>& owners = trial_.owners();
  for (std::uint32_t owner = 0; owner < owners.size(); ++owner)
    (owners[owner].parent == kNone ? roots_ : nodes_[owners[owner].parent].children).push_back(owner);
  deepest_first_ = roots_;
  for (std::size_t i = 0; i < deepest_first_.size(); ++i) {
    const std::vector<std::uint32_t>& children = nodes_[deepest_first_[i]].children;
    deepest_first_.insert(deepest_first_.end(), children.begin(), children.end());
  }
  std::reverse(deepest_first_.begin(), deepest_first_.end());
}

void Agenda::touch(std::uint32_t project) {
  for (std::uint32_t at = project; at != kNone; at = trial_.owners()[at].parent) ++nodes_[at].version;
}

/// For the heaps: whether `a` comes after `b`.
bool Agenda::is_later(std::uint32_t a, std::uint32_t b) const {
  // Who serves goes by what is there; who takes, by what he has not taken yet.
  if (direction_ == Direction::TakeFrom) return order_.before(a, b, takes_part_);
  return order_.before(b, a, [this](std::uint32_t member) { return is_active(trial_.state(member)); });
}

void Agenda::add(std::uint32_t workload) {
  const std::uint32_t project = trial_.snapshot().workloads[workload].project;
  std::vector<std::uint32_t>& jobs = nodes_[project].jobs;
  jobs.push_back(workload);
  std::push_heap(jobs.begin(), jobs.end(), [this](std::uint32_t a, std::uint32_t b) { return is_later(a, b); });
  touch(project);
}

void Agenda::chosen(std::uint32_t project, const Resources& amount) {
  for (std::uint32_t at = project; at != kNone; at = trial_.owners()[at].parent) nodes_[at].gone += amount;
  touch(project);
}

Resources Agenda::change_of(std::uint32_t workload) const {
  Resources sum;
  if (direction_ == Direction::Serve) {
    for (const std::uint32_t member : order_.next_members(workload, takes_part_)) sum += trial_.amount(member, kNone);
    return sum;
  }
  for (const std::uint32_t member : order_.next_victims(workload, takes_part_)) sum += trial_.amount(member);
  return Resources{} - sum;
}

bool Agenda::first(std::uint32_t a, std::uint32_t b) const {
  const bool serve = direction_ == Direction::Serve;
  const Contest left{&trial_.owners()[a], serve ? nodes_[a].change : Resources{}, nodes_[a].change - nodes_[a].gone};
  const Contest right{&trial_.owners()[b], serve ? nodes_[b].change : Resources{}, nodes_[b].change - nodes_[b].gone};
  const int order = compare_projects(left, right, trial_.total());
  const bool served_first = order != 0 ? order < 0 : a < b;
  return serve ? served_first : !served_first;
}

void Agenda::refresh(std::uint32_t project) {
  Node& node = nodes_[project];
  const std::uint64_t owner_version = trial_.owners()[project].version;
  if (node.owner_version == owner_version && node.seen_version == node.version) return;
  node.owner_version = owner_version;
  node.seen_version = node.version;
  node.best_job = kNone;
  if (!node.jobs.empty()) {
    node.best_job = node.jobs.front();
    node.change = change_of(node.best_job);
    return;
  }
  std::uint32_t best = kNone;
  for (const std::uint32_t child : node.children)
    if (nodes_[child].best_job != kNone && (best == kNone || first(child, best))) best = child;
  if (best == kNone) return;
  node.best_job = nodes_[best].best_job;
  node.change = nodes_[best].change;
}

std::optional<std::uint32_t> Agenda::take() {
  for (const std::uint32_t project : deepest_first_) refresh(project);
  std::uint32_t best = kNone;
  for (const std::uint32_t root : roots_)
    if (nodes_[root].best_job != kNone && (best == kNone || first(root, best))) best = root;
  if (best == kNone) return std::nullopt;
  const std::uint32_t job = nodes_[best].best_job;
  const std::uint32_t project = trial_.snapshot().workloads[job].project;
  std::vector<std::uint32_t>& jobs = nodes_[project].jobs;
  std::pop_heap(jobs.begin(), jobs.end(), [this](std::uint32_t a, std::uint32_t b) { return is_later(a, b); });
  jobs.pop_back();
  touch(project);
  return job;
}

}  // namespace penstock::policy
