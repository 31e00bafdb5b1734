// The audit of a supervisor, for commands on its host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/protocol/border_config.hpp"
#include "supervisor/audit/audit_book.hpp"

namespace penstock::cli {

/// The audit of the supervisor with that state, which need not run. Errors: InvalidArgument, StorageFull.
Result<std::shared_ptr<supervisor::AuditBook>> open_audit(const std::string& state, const AuditConfig& config);

/// Records what this user does on the supervisor's host, on the disk when it returns. Errors: as of `open_audit`.
Result<void> record_here(const std::string& state, supervisor::AuditRecord record);
/// The same for a supervisor that starts or ends, behind other records; what the audit has found on the disk goes to
/// the log.
Result<void> record_supervisor(supervisor::AuditBook& book, const std::string& what, const std::string& outcome,
                               std::vector<supervisor::AuditRecord> before = {});

}  // namespace penstock::cli
