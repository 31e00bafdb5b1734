// Orders that had their effect and are not in the audit: a kill came before their answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "supervisor/audit/audit_record.hpp"

namespace penstock::supervisor {

/// An order that was carried out, as the journal has it.
struct DoneOrder {
  std::int64_t at_ms = 0;
  std::string who;  ///< `user@host`
  std::string order;
  std::string outcome;
};

/// Records for those of the orders that the last life of the supervisor has carried out and not recorded. Reads the
/// last file: an order that was never answered is one of the latest. Errors: as of `read_audit_lines`.
Result<std::vector<AuditRecord>> missed_orders(const std::string& directory, const std::vector<DoneOrder>& done);

}  // namespace penstock::supervisor
