// Walks the chain of an audit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/audit/audit_chain.hpp"

namespace penstock::supervisor {

struct AuditVerdict {
  std::uint64_t records = 0;
  std::uint64_t files = 0;
  std::int64_t first_ms = 0;
  std::int64_t last_ms = 0;
  ChainPoint last;
  /// In order; none: the audit is as it was written. At most `kFindingsMax`.
  std::vector<std::string> findings;
};
inline constexpr std::size_t kFindingsMax = 100;

/// Reads every record, and finds those that were changed, removed or moved, a file or a tail that is missing, records
/// that the authority has not signed, and damage that the audit itself has found before. `noted`: a head that somebody
/// has kept elsewhere, which must be in the chain. Records that are appended meanwhile are
/// not looked at. Errors: NotFound, InvalidArgument.
Result<AuditVerdict> check_audit(const std::string& directory, const X509& authority,
                                 const std::optional<ChainPoint>& noted = std::nullopt);

}  // namespace penstock::supervisor
