// The owners that policy divides among: projects as one pool sees them, and the tree of accounts. Pure.
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

/// The tree of departments and projects, by their positions in the configuration. Made once for each configuration: by
/// names, the look-ups of a pass over a thousand projects would take many milliseconds.
struct ProjectTree {
  std::vector<std::uint32_t> parents;      ///< `kNone`: it is at the top.
  std::vector<std::uint32_t> guarantee_pools;  ///< The pool of its guarantees.
  std::vector<std::uint32_t> parts_first;  ///< All of them, parts before their wholes.
};
/// `project 'vision'`, or `department 'research'`.
std::string owner_text(const ProjectConfig& owner);

/// REQUIRES: `check_policy` accepts the configuration.
ProjectTree project_tree(const PolicyConfig& config);

/// The guarantee of each project in a pool: its own in the first of its pools, 0 in the others. A department without a
/// pool has its guarantees in the pool of the first of its parts; elsewhere it guarantees the sum of its parts. Spec:
/// policy-runai 10.
std::vector<std::int64_t> guarantees_in(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                        Guarantee guarantee);

/// Thousandths: the weights by which the idle rest beyond `guaranteed` is divided among siblings; the last is that of
/// jobs without a project. Where one sibling has a weight set, the others without one have 1. Where none has, weights
/// are guarantees, and without any, 1. Spec: policy-runai 2.
std::vector<std::int64_t> weights_beyond(const PolicyConfig& config, const std::vector<std::int64_t>& guaranteed);

/// As a pass sees them: each kind of band of each pool has projects of its own, because guarantees of one say nothing
/// about the others. The last is that of jobs without a project. Memory is divided in pools where a project has a
/// guarantee of it. `first`: the number of projects before them in the snapshot.
std::vector<policy::Project> projects_in(const PolicyConfig& config, const ProjectTree& tree, std::uint32_t pool,
                                         BandKind kind, std::uint32_t first);

/// Accounts by their positions in the configuration, then the root above them all, then users, each with one share of
/// the account that is charged for them, beside its parts. An account without parts and with a single user represents
/// that user itself. Spec: policy-flux 5.1.
struct AccountTree {
  using Charged = std::map<UsageTable::Key, std::uint32_t>;
  std::vector<policy::Account> accounts;
  Charged charged;  ///< The account of the use of each user.
};
/// `active`: jobs of these are charged there now.
AccountTree account_tree(const PolicyConfig& config, const UsageTable& usage, const std::set<UsageTable::Key>& active);

}  // namespace penstock::supervisor
