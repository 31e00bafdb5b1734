// The slot-time of ended attempts, by project and pool.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/resources.hpp"

namespace penstock {
struct PolicyConfig;
}

namespace penstock::supervisor {

/// Adds up slot-time by the names of project and pool and the kind of the band. Rows only grow, so they are counters
/// over changes of the configuration; beyond `kRowsMax` all that is new shares one row. Cost: an addition.
class BusyTimes {
 public:
  static constexpr std::size_t kRowsMax = 500;
  static constexpr const char* kOther = "other";

  struct Row {
    std::string project;  ///< Empty: of jobs without one.
    std::string pool;     ///< Empty: of bands without one.
    BandKind kind = BandKind::Cpu;
    std::uint64_t slot_us = 0;
  };

  /// Positions mean these projects and pools from now on.
  void set_names(const PolicyConfig& policy);
  /// Positions beyond the configuration mean: none.
  void add(std::uint32_t project, std::uint32_t pool, BandKind kind, std::uint64_t slot_us) {
    const std::size_t project_at = std::min<std::size_t>(project, projects_.size());
    const std::size_t pool_at = std::min<std::size_t>(pool, pools_.size());
    const std::size_t cell = (project_at * (pools_.size() + 1) + pool_at) * 2 + static_cast<std::size_t>(kind);
    if (cells_[cell] == kUnused) [[unlikely]]
      cells_[cell] = row_of(project_at, pool_at, kind);
    rows_[cells_[cell]].slot_us += slot_us;
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  static constexpr std::uint32_t kUnused = ~std::uint32_t{0};

  std::uint32_t row_of(std::size_t project, std::size_t pool, BandKind kind);

  std::vector<std::string> projects_;
  std::vector<std::string> pools_;
  std::vector<std::uint32_t> cells_ = std::vector<std::uint32_t>(2, kUnused);  ///< By project, pool and kind.
  std::vector<Row> rows_;
};

}  // namespace penstock::supervisor
