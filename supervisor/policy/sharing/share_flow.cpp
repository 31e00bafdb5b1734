#include "supervisor/policy/sharing/share_flow.hpp"

#include <algorithm>

namespace penstock::policy {

ShareFlow::ShareFlow(const ClassedPool& pool, Wide scale)
    : pool_(pool),
      scale_(scale),
      left_(pool.rooms.begin(), pool.rooms.end()),
      given_(pool.demands.size()),
      placed_(pool.classes.size()),
      groups_of_(pool.classes.size()),
      classes_of_(pool.rooms.size()) {
  for (Wide& each : left_) each *= scale;
  for (std::uint32_t group = 0; group < pool.demands.size(); ++group) {
    const std::vector<ClassDemand>& demands = pool.demands[group];
    given_[group].assign(demands.size(), 0);
    for (std::size_t i = 0; demands.size() > 1 && i < demands.size(); ++i)
      groups_of_[demands[i].kind].emplace_back(group, i);
  }
  for (std::uint32_t kind = 0; kind < pool.classes.size(); ++kind) {
    placed_[kind].assign(pool.classes[kind].size(), 0);
    for (std::size_t i = 0; i < pool.classes[kind].size(); ++i)
      classes_of_[pool.classes[kind][i]].emplace_back(kind, i);
  }
  const std::size_t counts[] = {pool.demands.size(), pool.classes.size(), pool.rooms.size()};
  for (std::size_t kind = 0; kind < 3; ++kind) {
    seen_[kind].assign(counts[kind], 0);
    stuck_[kind].assign(counts[kind], false);
  }
}

Wide ShareFlow::push(std::uint32_t group, Wide amount) {
  Wide pushed = 0;
  while (pushed < amount && search(group)) {
    const Wide step = narrowest(amount - pushed);
    shift(step);
    pushed += step;
  }
  return pushed;
}

bool ShareFlow::stuck(std::uint32_t group) const {
  if (stuck_[0][group]) return true;
  const std::vector<ClassDemand>& demands = pool_.demands[group];
  for (std::size_t i = 0; i < demands.size(); ++i)
    if (given_[group][i] > 0 && stuck_[1][demands[i].kind]) return true;
  return false;
}

void ShareFlow::place(std::uint32_t group, std::uint32_t kind, std::uint32_t room, Wide amount) {
  for (std::size_t i = 0; i < pool_.demands[group].size(); ++i)
    if (pool_.demands[group][i].kind == kind) given_[group][i] += amount;
  const std::vector<std::uint32_t>& rooms = pool_.classes[kind];
  placed_[kind][static_cast<std::size_t>(std::find(rooms.begin(), rooms.end(), room) - rooms.begin())] += amount;
  left_[room] -= amount;
}

void ShareFlow::adopt(const ShareFlow& other) {
  for (std::size_t group = 0; group < given_.size(); ++group)
    for (std::size_t i = 0; i < given_[group].size(); ++i) given_[group][i] += other.given_[group][i];
  for (std::size_t kind = 0; kind < placed_.size(); ++kind)
    for (std::size_t i = 0; i < placed_[kind].size(); ++i) {
      placed_[kind][i] += other.placed_[kind][i];
      left_[pool_.classes[kind][i]] -= other.placed_[kind][i];
    }
}

/// Whether there is a way from the group to a room that has some left: `found_` back from its end. Where there is none
/// all that was seen is stuck: no later push can open a way out of it.
bool ShareFlow::search(std::uint32_t group) {
  found_.clear();
  ++searches_;
  visit(Kind::Group, group, 0, 0);
  for (std::size_t at = 0; at < found_.size(); ++at) {
    switch (found_[at].kind) {
      case Kind::Group: leave_group(at); break;
      case Kind::Class: leave_class(at); break;
      case Kind::Room: leave_room(at); break;
    }
    if (found_.back().kind == Kind::Room && left_[found_.back().at] > 0) return true;
  }
  for (const Node& node : found_) stuck_[static_cast<std::size_t>(node.kind)][node.at] = true;
  return false;
}

void ShareFlow::visit(Kind kind, std::uint32_t at, std::size_t from, std::size_t position) {
  const auto of = static_cast<std::size_t>(kind);
  if (stuck_[of][at] || seen_[of][at] == searches_) return;
  seen_[of][at] = searches_;
  found_.push_back({kind, at, from, position});
}

void ShareFlow::leave_group(std::size_t node) {
  const std::uint32_t group = found_[node].at;
  const std::vector<ClassDemand>& demands = pool_.demands[group];
  for (std::size_t i = 0; i < demands.size(); ++i)
    if (given_[group][i] < demands[i].slots * scale_) visit(Kind::Class, demands[i].kind, node, i);
}

void ShareFlow::leave_class(std::size_t node) {
  const std::uint32_t kind = found_[node].at;
  const std::vector<std::uint32_t>& rooms = pool_.classes[kind];
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    visit(Kind::Room, rooms[i], node, i);
    if (found_.back().kind == Kind::Room && left_[found_.back().at] > 0) return;
  }
  for (const auto& [group, position] : groups_of_[kind])
    if (given_[group][position] > 0) visit(Kind::Group, group, node, position);
}

void ShareFlow::leave_room(std::size_t node) {
  for (const auto& [kind, position] : classes_of_[found_[node].at])
    if (placed_[kind][position] > 0) visit(Kind::Class, kind, node, position);
}

/// How much can go along the way that was found.
Wide ShareFlow::narrowest(Wide amount) const {
  Wide most = std::min(amount, left_[found_.back().at]);
  for (std::size_t at = found_.size() - 1; at > 0; at = found_[at].from) {
    const Node& node = found_[at];
    const Node& from = found_[node.from];
    if (from.kind == Kind::Group)
      most = std::min(most, pool_.demands[from.at][node.position].slots * scale_ - given_[from.at][node.position]);
    else if (node.kind == Kind::Group)
      most = std::min(most, given_[node.at][node.position]);
    else if (from.kind == Kind::Room)
      most = std::min(most, placed_[node.at][node.position]);
  }
  return most;
}

void ShareFlow::shift(Wide amount) {
  left_[found_.back().at] -= amount;
  for (std::size_t at = found_.size() - 1; at > 0; at = found_[at].from) {
    const Node& node = found_[at];
    const Node& from = found_[node.from];
    if (from.kind == Kind::Group)
      given_[from.at][node.position] += amount;
    else if (node.kind == Kind::Group)
      given_[node.at][node.position] -= amount;
    else if (from.kind == Kind::Room)
      placed_[node.at][node.position] -= amount;
    else
      placed_[from.at][node.position] += amount;
  }
}

}  // namespace penstock::policy
