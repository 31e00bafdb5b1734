#include "supervisor/audit/missed_orders.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "supervisor/audit/audit_chain.hpp"

namespace penstock::supervisor {
namespace {

/// User and words of an order, as often as it was recorded.
using Recorded = std::map<std::pair<std::string, std::string>, std::uint32_t>;

/// The text of a record is cut, and so is the user's part of a name.
std::pair<std::string, std::string> key_of(const std::string& who, const std::string& order) {
  return {who.substr(0, who.find('@')), order.substr(0, kAuditTextBytesMax)};
}

}  // namespace

Result<std::vector<AuditRecord>> missed_orders(const std::string& directory, const std::vector<DoneOrder>& done) {
  const std::vector<std::uint32_t> files = audit_files_in(directory);
  if (files.empty()) return std::vector<AuditRecord>{};
  std::int64_t since_ms = 0;
  Recorded recorded;
  AuditPlace place{files.back(), 0, 0};
  PENSTOCK_TRY(read_audit_lines(directory, place, [&](std::string_view line) {
    const Result<AuditRecord> record = parse_audit_record(parse_chain_line(line).json);
    if (!record) return true;
    const bool is_start = record->event == audit_event::kSupervisor && record->what == "start";
    if (is_start) recorded.clear();
    if (is_start || since_ms == 0) since_ms = record->at_ms;
    if (record->event == audit_event::kOrder) ++recorded[key_of(record->user, record->what)];
    return true;
  }));
  std::vector<AuditRecord> missed;
  // Of alike orders the earlier ones are those that were recorded.
  std::vector<const DoneOrder*> orders;
  for (const DoneOrder& order : done)
    if (order.at_ms >= since_ms) orders.push_back(&order);
  for (const DoneOrder* order : orders) {
    const auto found = recorded.find(key_of(order->who, order->order));
    if (found != recorded.end() && found->second > 0) {
      --found->second;
      continue;
    }
    AuditRecord record;
    record.at_ms = order->at_ms;
    record.event = audit_event::kOrder;
    record.user = order->who;
    record.from = "journal";
    record.what = order->order;
    record.outcome = "not answered before the supervisor ended: " + order->outcome;
    missed.push_back(std::move(record));
  }
  return missed;
}

}  // namespace penstock::supervisor
