// Counts refusals that come too often for a record of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/time.hpp"
#include "common/protocol/border_config.hpp"
#include "supervisor/audit/audit_record.hpp"

namespace penstock::supervisor {

/// The first refusal of an address, a user and a kind is a record at once; those that follow it within
/// `audit.refusals_every` are one record, with their number, when that time is over. More addresses and users than
/// `audit.addresses_max` share one record. So a flood adds two records for each of them and interval, whatever it
/// sends. Lives on one thread. Cost: logarithmic in the addresses.
class RefusalCounts {
 public:
  explicit RefusalCounts(const AuditConfig& config) : config_(config) {}

  /// The record to be written now, if the refusal is to have one. `from` counts without its port. `kind`: one of a few
  /// words, which no peer chooses.
  std::optional<AuditRecord> note(AuditRecord record, const std::string& kind, Instant now);
  /// The records of intervals that are over.
  std::vector<AuditRecord> due(Instant now);
  /// The records of all intervals, for the end.
  std::vector<AuditRecord> all();
  /// None: nothing is counted.
  std::optional<Instant> next_deadline() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  ///< Address, user, kind.
  struct Counted {
    Instant until;
    std::optional<AuditRecord> record;  ///< The first that was not written at once; none: there was no other.
  };

  const AuditConfig& config_;
  std::map<Key, Counted> counted_;
};

}  // namespace penstock::supervisor
