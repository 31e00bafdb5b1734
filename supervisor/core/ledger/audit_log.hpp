// The audit history: orders of operators, decisions of policy, and troubles of the cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "common/protocol/client.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"

namespace penstock::supervisor {

/// Keeps the history that `audit` lists, and writes each entry down. Entries are numbered from 1 in one sequence and
/// kept in order; the history is limited by `audit_entries_max` and `audit_age_max`. Policy decides far more often than
/// operators order, and workers may be lost by the thousand: entries that the supervisor made by itself make room first
/// while they are more than half, so that orders keep the other half.
/// Cost: constant for an entry.
class AuditLog {
 public:
  /// `clock` dates the entries.
  AuditLog(const SupervisorConfig& config, CommitGate& gate, const WallClock& clock, const EventContext& event)
      : config_(config), gate_(gate), clock_(clock), event_(event) {}
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// An operator's order and its outcome; refused orders are kept, too. A question is not kept.
  void note_order(const AdminRequest& request, const Result<Value>& result);
  /// A decision of policy that its owner may ask about.
  void note_decision(std::string decision, std::string reason);
  /// An event that has befallen the cluster, and the supervisor's reaction.
  void note_trouble(const std::string& decision, const std::string& reason);
  /// Entries of an earlier term of the state, in order.
  void recover(std::vector<record::Ordered>& entries);
  /// The last entries, oldest first; `--limit` and `--since` of the request bound them. Error: InvalidArgument.
  Result<Value> list(const AdminRequest& request) const;

 private:
  void keep(record::Ordered entry);
  void forget_old();
  void forget_oldest(std::deque<record::Ordered>& from);
  std::int64_t now_ms() const { return clock_.unix_ms(event_.now); }

  const SupervisorConfig& config_;
  CommitGate& gate_;
  const WallClock& clock_;
  const EventContext& event_;
  std::deque<record::Ordered> orders_;     ///< Of operators, oldest first.
  std::deque<record::Ordered> decisions_;  ///< Of policy and of the supervisor, oldest first.
  std::uint64_t next_number_ = 1;
};

}  // namespace penstock::supervisor
