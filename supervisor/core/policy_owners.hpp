// Whom policy divides among: projects as one pool sees them, and the tree of accounts. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/protocol/policy_config.hpp"
#include "supervisor/core/usage.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

/// How departments and projects stand to each other, by their positions in the configuration. Made once for each: by
/// names, what a pass asks of a thousand projects takes many milliseconds.
struct ProjectTree {
  std::vector<std::uint32_t> parents;      ///< `kNone`: it stands at the top.
  std::vector<std::uint32_t> homes;        ///< The pool where what it is guaranteed stands.
  std::vector<std::uint32_t> parts_first;  ///< All of them, parts before what they are parts of.
};
/// `project 'vision'`, or `department 'research'`.
std::string owner_text(const ProjectConfig& owner);

/// REQUIRES: `check_policy` accepts the configuration.
ProjectTree project_tree(const PolicyConfig& config);

/// What each project is guaranteed in a pool: what it says in the first of its own, 0 in the others. A department without a pool is
/// at home where the first of its parts is; elsewhere it guarantees what its parts do. Spec: policy-runai 10.
std::vector<std::int64_t> guarantees_in(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                        Guarantee guarantee);

/// Thousandths: how what lies idle beyond `guaranteed` is divided among siblings; the last is who has no project. Where
/// one of them says a weight, who says none has 1. Where nobody does, weights are guarantees, and without any, 1.
/// Spec: policy-runai 2.
std::vector<std::int64_t> weights_beyond(const PolicyConfig& config, const std::vector<std::int64_t>& guaranteed);

/// As a pass sees them: each kind of band of each pool has projects of its own, because what is guaranteed of one says
/// nothing about the others. The last is that of jobs without a project. Memory is divided in pools where anybody is
/// guaranteed any. `first`: how many come before them in the snapshot.
std::vector<policy::Project> projects_in(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                         BandKind kind, std::uint32_t first);

/// Accounts by their positions in the configuration, then the root above them all, then users, each with one share of
/// the account that is charged for them, beside its parts. An account without parts that has one user only stands for
/// that one itself. Spec: policy-flux 5.1.
struct AccountTree {
  using Charged = std::map<UsageTable::Key, std::uint32_t>;
  std::vector<policy::Account> accounts;
  Charged charged;  ///< Whose use is which of them.
};
/// `active`: jobs of these are charged there now.
AccountTree account_tree(const PolicyConfig& config, const UsageTable& usage, const std::set<UsageTable::Key>& active);

}  // namespace penstock::supervisor
