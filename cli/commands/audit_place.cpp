#include "cli/commands/audit_place.hpp"

#include <unistd.h>

#include <limits>

#include "cli/commands/state_place.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/host/log.hpp"

namespace penstock::cli {

using supervisor::AuditBook;
using supervisor::AuditRecord;

Result<std::shared_ptr<AuditBook>> open_audit(const std::string& state, const AuditConfig& config) {
  Result<Authority> authority = Authority::open(authority_directory_in(state));
  if (!authority) return std::move(authority).error();
  Result<AuditBook> book = AuditBook::open({audit_directory_in(state), config.file_bytes_max, config.keep_files},
                                           std::move(authority).value());
  if (!book) return std::move(book).error();
  return std::make_shared<AuditBook>(std::move(book).value());
}

// The settings are the supervisor's: a command begins no file and removes none.
Result<void> record_here(const std::string& state, AuditRecord record) {
  AuditConfig config;
  config.file_bytes_max = std::numeric_limits<std::uint64_t>::max();
  const Result<std::shared_ptr<AuditBook>> book = open_audit(state, config);
  if (!book) return book.error();
  record.at_ms = unix_now_ms();
  record.user = user_name();
  record.from = "local, process " + std::to_string(::getpid());
  if (const auto written = (*book)->append({std::move(record)}); !written) return written.error();
  return {};
}

Result<void> record_supervisor(AuditBook& book, const std::string& what, const std::string& outcome,
                               std::vector<AuditRecord> before) {
  AuditRecord record;
  record.at_ms = unix_now_ms();
  record.event = supervisor::audit_event::kSupervisor;
  record.user = user_name();
  record.from = "local, process " + std::to_string(::getpid());
  record.what = what;
  record.outcome = outcome;
  before.push_back(std::move(record));
  const Result<std::vector<std::string>> lines = book.append(std::move(before));
  if (!lines) return lines.error();
  for (const std::string& line : *lines) {
    const Result<AuditRecord> written = supervisor::parse_audit_record(supervisor::parse_chain_line(line).json);
    if (!written) continue;
    if (written->event == supervisor::audit_event::kDamage)
      log_line(LogLevel::Error, "audit damaged", "text=\"" + written->what + "\"");
    if (written->event == supervisor::audit_event::kRepair)
      log_line(LogLevel::Warn, "audit repaired", "text=\"" + written->what + "\"");
  }
  return {};
}

}  // namespace penstock::cli
