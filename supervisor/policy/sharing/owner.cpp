#include "supervisor/policy/sharing/owner.hpp"

namespace penstock::policy {

OwnerTree::OwnerTree(const std::vector<Owner>& owners) : children(owners.size()) {
  for (std::uint32_t owner = 0; owner < owners.size(); ++owner)
    (owners[owner].parent == kNone ? roots : children[owners[owner].parent]).push_back(owner);
  deepest_first = roots;
  for (std::size_t i = 0; i < deepest_first.size(); ++i) {
    const std::vector<std::uint32_t>& below = children[deepest_first[i]];
    deepest_first.insert(deepest_first.end(), below.begin(), below.end());
  }
  std::reverse(deepest_first.begin(), deepest_first.end());
  ranks.resize(owners.size());
  for (std::uint32_t rank = 0; rank < deepest_first.size(); ++rank) ranks[deepest_first[rank]] = rank;
}

std::vector<std::uint32_t> chain_of(const std::vector<Owner>& owners, std::uint32_t project) {
  std::vector<std::uint32_t> chain;
  for (std::uint32_t at = project; at != kNone; at = owners[at].parent) chain.push_back(at);
  return chain;
}

Branches branches_of(const std::vector<Owner>& owners, std::uint32_t a, std::uint32_t b) {
  const auto depth = [&](std::uint32_t project) {
    std::size_t steps = 0;
    for (std::uint32_t at = project; at != kNone; at = owners[at].parent) ++steps;
    return steps;
  };
  // One may be the other's ancestor, or both the same: then its branch is itself.
  Branches branches{a, b, kNone};
  std::uint32_t up_a = a;
  std::uint32_t up_b = b;
  const auto climb = [&](std::uint32_t& at, std::uint32_t& branch) { at = owners[branch = at].parent; };
  const std::size_t depth_a = depth(a);
  const std::size_t depth_b = depth(b);
  for (std::size_t i = depth_b; i < depth_a; ++i) climb(up_a, branches.a);
  for (std::size_t i = depth_a; i < depth_b; ++i) climb(up_b, branches.b);
  while (up_a != up_b) {
    climb(up_a, branches.a);
    climb(up_b, branches.b);
  }
  branches.ancestor = up_a;
  return branches;
}

}  // namespace penstock::policy
