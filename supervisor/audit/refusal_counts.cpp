#include "supervisor/audit/refusal_counts.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

constexpr const char* kOthers = "other addresses";

}  // namespace

std::optional<AuditRecord> RefusalCounts::note(AuditRecord record, const std::string& kind, Instant now) {
  Key key{record.from.substr(0, record.from.rfind(':')), record.user, kind};
  if (!counted_.contains(key) && counted_.size() >= config_.addresses_max) {
    key = {kOthers, "", kind};
    record.from = kOthers;
    record.user.clear();
    record.role.clear();
    record.serial.clear();
  }
  const auto [entry, is_new] = counted_.try_emplace(std::move(key), Counted{later(now, config_.refusals_every), {}});
  if (is_new) return record;
  std::optional<AuditRecord>& counted = entry->second.record;
  const std::int64_t at_ms = record.at_ms;
  if (!counted.has_value()) counted = std::move(record);
  ++counted->count;
  counted->until_ms = at_ms;
  return std::nullopt;
}

std::vector<AuditRecord> RefusalCounts::due(Instant now) {
  std::vector<AuditRecord> records;
  for (auto entry = counted_.begin(); entry != counted_.end();) {
    Counted& counted = entry->second;
    if (counted.until > now) {
      ++entry;
      continue;
    }
    if (counted.record.has_value()) records.push_back(std::move(*counted.record));
    entry = counted_.erase(entry);
  }
  return records;
}

std::vector<AuditRecord> RefusalCounts::all() {
  std::vector<AuditRecord> records;
  for (auto& [key, counted] : counted_)
    if (counted.record.has_value()) records.push_back(std::move(*counted.record));
  counted_.clear();
  return records;
}

std::optional<Instant> RefusalCounts::next_deadline() const {
  std::optional<Instant> first;
  for (const auto& [key, counted] : counted_)
    if (!first.has_value() || counted.until < *first) first = counted.until;
  return first;
}

}  // namespace penstock::supervisor
