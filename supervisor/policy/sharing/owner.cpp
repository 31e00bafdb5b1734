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
}

std::vector<std::uint32_t> chain_of(const std::vector<Owner>& owners, std::uint32_t project) {
  std::vector<std::uint32_t> chain;
  for (std::uint32_t at = project; at != kNone; at = owners[at].parent) chain.push_back(at);
  return chain;
}

Branches branches_of(const std::vector<Owner>& owners, std::uint32_t a, std::uint32_t b) {
  const std::vector<std::uint32_t> up_a = chain_of(owners, a);
  const std::vector<std::uint32_t> up_b = chain_of(owners, b);
  std::size_t common = 0;
  while (common < up_a.size() && common < up_b.size() &&
         up_a[up_a.size() - 1 - common] == up_b[up_b.size() - 1 - common])
    ++common;
  Branches branches;
  if (common > 0) branches.ancestor = up_a[up_a.size() - common];
  // One may be the other's ancestor, or both the same: then its branch is itself.
  branches.a = common < up_a.size() ? up_a[up_a.size() - 1 - common] : a;
  branches.b = common < up_b.size() ? up_b[up_b.size() - 1 - common] : b;
  return branches;
}

}  // namespace penstock::policy
