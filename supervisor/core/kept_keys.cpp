#include "supervisor/core/kept_keys.hpp"

#include <algorithm>
#include <numeric>

namespace penstock::supervisor {

KeptKeys::KeptKeys(std::vector<KeptKey> keys) : keys_(std::move(keys)), by_key_(keys_.size()) {
  std::sort(keys_.begin(), keys_.end(), [](const KeptKey& a, const KeptKey& b) { return a.subtask < b.subtask; });
  std::iota(by_key_.begin(), by_key_.end(), 0U);
  std::sort(by_key_.begin(), by_key_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return keys_[a].key < keys_[b].key; });
}

const std::string* KeptKeys::key_of(std::uint32_t subtask) const {
  const auto found =
      std::lower_bound(keys_.begin(), keys_.end(), subtask,
                       [](const KeptKey& known, std::uint32_t sought) { return known.subtask.value() < sought; });
  return found == keys_.end() || found->subtask.value() != subtask ? nullptr : &found->key;
}

std::optional<std::uint32_t> KeptKeys::find(std::string_view key) const {
  const auto found =
      std::lower_bound(by_key_.begin(), by_key_.end(), key,
                       [this](std::uint32_t at, std::string_view sought) { return keys_[at].key < sought; });
  if (found == by_key_.end() || keys_[*found].key != key) return std::nullopt;
  return keys_[*found].subtask.value();
}

std::uint64_t KeptKeys::bytes() const {
  std::uint64_t sum = keys_.size() * (sizeof(KeptKey) + sizeof(std::uint32_t));
  for (const KeptKey& each : keys_) sum += each.key.size();
  return sum;
}

}  // namespace penstock::supervisor
