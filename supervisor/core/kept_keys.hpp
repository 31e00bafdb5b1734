// Keys by which results of a job that has ended are asked for, once its graph is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/records.hpp"

namespace penstock::supervisor {

/// Keys of the subtasks with outputs that a job keeps for clients: of a recovered job, which has no graph. Constant
/// once made. Cost: logarithmic in their number.
class KeptKeys {
 public:
  KeptKeys() = default;
  explicit KeptKeys(std::vector<KeptKey> keys);

  bool empty() const { return keys_.empty(); }
  const std::vector<KeptKey>& all() const { return keys_; }
  /// Null: not known.
  const std::string* key_of(std::uint32_t subtask) const;
  std::optional<std::uint32_t> find(std::string_view key) const;
  /// Bytes of memory for all of them.
  std::uint64_t bytes() const;

 private:
  std::vector<KeptKey> keys_;           ///< By subtask.
  std::vector<std::uint32_t> by_key_;   ///< Positions in `keys_`, by key.
};

}  // namespace penstock::supervisor
