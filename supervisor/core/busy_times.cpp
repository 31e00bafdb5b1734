#include "supervisor/core/busy_times.hpp"

#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

void BusyTimes::set_names(const PolicyConfig& policy) {
  projects_.clear();
  pools_.clear();
  for (const ProjectConfig& project : policy.projects) projects_.push_back(project.name);
  for (const PoolConfig& pool : policy.pools) pools_.push_back(pool.name);
  cells_.assign((projects_.size() + 1) * (pools_.size() + 1) * 2, kUnused);
}

std::uint32_t BusyTimes::row_of(std::size_t project, std::size_t pool, BandKind kind) {
  const auto find = [this](const Row& row) {
    const auto known = std::find_if(rows_.begin(), rows_.end(), [&](const Row& each) {
      return each.project == row.project && each.pool == row.pool && each.kind == row.kind;
    });
    return static_cast<std::uint32_t>(known - rows_.begin());
  };
  Row row{project < projects_.size() ? projects_[project] : "", pool < pools_.size() ? pools_[pool] : "", kind, 0};
  std::uint32_t at = find(row);
  // The last row is of all that is new.
  if (at == rows_.size() && rows_.size() + 1 >= kRowsMax) {
    row = {kOther, kOther, BandKind::Cpu, 0};
    at = find(row);
  }
  if (at == rows_.size()) rows_.push_back(std::move(row));
  return at;
}

}  // namespace penstock::supervisor
