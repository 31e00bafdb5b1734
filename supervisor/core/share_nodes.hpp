// The owners among which a pool with fair shares divides its slots before their jobs do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/policy_config.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

/// The weight of a project, in thousandths, as one of the siblings that share slots: 1 if none is set, and above 0.
/// `project`: its position; the number of projects: of jobs without a project, together.
std::int64_t share_weight(const PolicyConfig& config, std::uint32_t project);

/// The nodes of one snapshot's share tree, each made when the first job of it is shown: the departments above a
/// project, the project, and each user in it. Jobs without a project are in one of their own. Limits count in the
/// slots of the domain. One for each pass. Cost: O(log nodes + depth) for a job.
class ShareNodes {
 public:
  /// The domain of a snapshot: its number, the kind of its bands, and the thousandths of a slot that it counts by.
  struct Domain {
    std::uint32_t number = 0;
    BandKind kind = BandKind::Cpu;
    std::uint64_t granularity = 1;
  };

  /// The node of a user in that project; `kNone` where no project is configured.
  std::uint32_t user(const PolicyConfig& config, const ProjectTree& tree, const Domain& domain, std::uint32_t project,
                     const std::string& name, policy::Snapshot& snapshot);
  /// By node: the position of its project, or that number of jobs without one; `kNone`: a user.
  const std::vector<std::uint32_t>& projects() const { return projects_; }

 private:
  std::uint32_t project(const PolicyConfig& config, const ProjectTree& tree, const Domain& domain, std::uint32_t at,
                        policy::Snapshot& snapshot);

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> of_project_;  ///< By domain and position.
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> of_user_;       ///< By the project's node and name.
  std::vector<std::uint32_t> projects_;
};

}  // namespace penstock::supervisor
