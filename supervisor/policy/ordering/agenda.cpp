#include "supervisor/policy/ordering/agenda.hpp"

#include <algorithm>
#include <utility>

namespace penstock::policy {

Agenda::Agenda(const WorkloadOrder& order, Direction direction, WorkloadOrder::Waits takes_part)
    : order_(order),
      trial_(order.trial()),
      direction_(direction),
      takes_part_(std::move(takes_part)),
      tree_(order.tree()),
      nodes_(trial_.owners().size()) {}

void Agenda::touch(std::uint32_t project) {
  several_touched_ = several_touched_ || (touched_ != kNone && touched_ != project);
  touched_ = project;
  for (std::uint32_t at = project; at != kNone; at = trial_.owners()[at].parent) {
    if (nodes_[at].version++ > 0) continue;
    const auto deeper = [this](std::uint32_t a, std::uint32_t b) { return tree_.ranks[a] < tree_.ranks[b]; };
    live_.insert(std::upper_bound(live_.begin(), live_.end(), at, deeper), at);
  }
}

void Agenda::clear() {
  for (const std::uint32_t owner : live_) {
    std::vector<Entry> jobs = std::move(nodes_[owner].jobs);  // For its memory.
    jobs.clear();
    nodes_[owner] = {};
    nodes_[owner].jobs = std::move(jobs);
  }
  live_.clear();
  seen_trial_ = ~std::uint64_t{0};
  touched_ = kNone;
  several_touched_ = false;
}

/// For the heaps: whether `a` comes after `b`.
bool Agenda::is_later(const Entry& a, const Entry& b) const {
  // Serving orders by the state at hand, taking by members that are not taken yet.
  if (direction_ == Direction::TakeFrom) return order_.before(a.job, b.job, a.state, b.state);
  return order_.before(b.job, a.job, order_.state(b.job), order_.state(a.job));
}

void Agenda::add(std::uint32_t workload) {
  const std::uint32_t project = trial_.snapshot().workloads[workload].project;
  std::vector<Entry>& jobs = nodes_[project].jobs;
  // Nothing is taken of a job while it is in this heap.
  const bool takes = direction_ == Direction::TakeFrom;
  jobs.push_back({workload, takes ? order_.state(workload, takes_part_) : GangState::AtMin});
  std::push_heap(jobs.begin(), jobs.end(), [this](const Entry& a, const Entry& b) { return is_later(a, b); });
  touch(project);
}

void Agenda::add_all(const std::vector<std::uint32_t>& workloads) {
  const bool takes = direction_ == Direction::TakeFrom;
  for (const std::uint32_t workload : workloads)
    nodes_[trial_.snapshot().workloads[workload].project].jobs.push_back(
        {workload, takes ? order_.state(workload) : GangState::AtMin});
  for (std::uint32_t project = 0; project < nodes_.size(); ++project) {
    std::vector<Entry>& jobs = nodes_[project].jobs;
    if (jobs.empty()) continue;
    std::make_heap(jobs.begin(), jobs.end(), [this](const Entry& a, const Entry& b) { return is_later(a, b); });
    touch(project);
  }
}

void Agenda::add_sorted(std::uint32_t project, const std::vector<std::uint32_t>& workloads) {
  if (workloads.empty()) return;
  nodes_[project].sorted = &workloads;
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
  const int order = compare_ranks(nodes_[a].rank, nodes_[b].rank);
  const bool served_first = order != 0 ? order < 0 : a < b;
  return direction_ == Direction::Serve ? served_first : !served_first;
}

bool Agenda::find_best_job(Node& node) const {
  node.best_job = node.jobs.empty() ? kNone : node.jobs.front().job;
  node.best_is_sorted = false;
  if (node.sorted == nullptr) return node.best_job != kNone;
  const std::vector<std::uint32_t>& sorted = *node.sorted;
  while (node.next_sorted < sorted.size() && !admits_(sorted[node.next_sorted])) ++node.next_sorted;
  if (node.next_sorted == sorted.size()) return node.best_job != kNone;
  const std::uint32_t first = sorted[node.next_sorted];
  if (node.best_job != kNone && !is_later(node.jobs.front(), {first, order_.state(first)})) return true;
  node.best_job = first;
  node.best_is_sorted = true;
  return true;
}

void Agenda::look_again(std::uint32_t project) {
  Node& node = nodes_[project];
  if (find_best_job(node)) {
    node.change = change_of(node.best_job);
    return;
  }
  std::uint32_t best = kNone;
  for (const std::uint32_t child : tree_.children[project])
    if (nodes_[child].best_job != kNone && (best == kNone || first(child, best))) best = child;
  if (best == kNone) return;
  node.best_job = nodes_[best].best_job;
  node.change = nodes_[best].change;
}

void Agenda::refresh(std::uint32_t project) {
  Node& node = nodes_[project];
  const Owner& owner = trial_.owners()[project];
  if (node.owner_version == owner.version && node.seen_version == node.version) return;
  node.owner_version = owner.version;
  node.seen_version = node.version;
  look_again(project);
  if (node.best_job == kNone) return;
  const bool serve = direction_ == Direction::Serve;
  node.rank = rank_project({&owner, serve ? node.change : Resources{}, node.change - node.gone}, trial_.total());
}

void Agenda::refresh_all() {
  // Mostly nothing but the project that was served last has changed.
  if (seen_trial_ == trial_.version() && !several_touched_) {
    for (std::uint32_t at = touched_; at != kNone; at = trial_.owners()[at].parent) refresh(at);
  } else {
    for (const std::uint32_t project : live_) refresh(project);
  }
  seen_trial_ = trial_.version();
  touched_ = kNone;
  several_touched_ = false;
}

std::optional<std::uint32_t> Agenda::take() {
  refresh_all();
  std::uint32_t best = kNone;
  for (const std::uint32_t root : tree_.roots)
    if (nodes_[root].best_job != kNone && (best == kNone || first(root, best))) best = root;
  if (best == kNone) return std::nullopt;
  const std::uint32_t job = nodes_[best].best_job;
  const std::uint32_t project = trial_.snapshot().workloads[job].project;
  Node& node = nodes_[project];
  if (node.best_is_sorted) {
    ++node.next_sorted;
  } else {
    std::pop_heap(node.jobs.begin(), node.jobs.end(),
                  [this](const Entry& a, const Entry& b) { return is_later(a, b); });
    node.jobs.pop_back();
  }
  touch(project);
  return job;
}

}  // namespace penstock::policy
