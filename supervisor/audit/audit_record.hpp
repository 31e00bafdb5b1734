// A record of the audit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace penstock::supervisor {

/// The kinds of records, as they stand in the file.
namespace audit_event {
inline constexpr const char* kOrder = "order";            ///< Of an operator, or of a user about a job.
inline constexpr const char* kSubmit = "submit";          ///< A job, accepted or refused.
inline constexpr const char* kLogin = "login";            ///< A token has led to a certificate.
inline constexpr const char* kRenewal = "renewal";        ///< A certificate has led to another one.
inline constexpr const char* kRefusal = "refusal";        ///< Of a peer, for its credential, its token or its rights.
inline constexpr const char* kToken = "token";            ///< Made or revoked.
inline constexpr const char* kUser = "user";              ///< Removed.
inline constexpr const char* kSupervisor = "supervisor";  ///< Has started or ended.
inline constexpr const char* kBegin = "begin";            ///< The first record of a file.
inline constexpr const char* kForget = "forget";          ///< The oldest file is removed, as the settings say.
inline constexpr const char* kRepair = "repair";          ///< The rest of an interrupted write was put aside.
inline constexpr const char* kDamage = "damage";          ///< The files were not as the audit has left them.
inline constexpr const char* kLost = "lost";              ///< Records that a full disk has cost.
}  // namespace audit_event

/// Empty texts and zeros are left out of the file.
struct AuditRecord {
  std::uint64_t number = 0;  ///< Its place in the chain, from 1; given when it is appended.
  std::int64_t at_ms = 0;    ///< The wall clock, since 1970.
  std::string event;
  std::string user;    ///< Of the certificate.
  std::string role;    ///< Of the certificate.
  std::string serial;  ///< Of the certificate.
  std::string token;   ///< The token's number.
  std::string from;    ///< The peer's address, or `local`.
  std::string what;
  std::string outcome;
  std::uint64_t count = 0;  ///< So many alike ones have come up to `until_ms`.
  std::int64_t until_ms = 0;
  std::string cluster;        ///< Of a file: its signatures are by that authority.
  std::string before;         ///< The digest of the record before a file begins, or of the last one that is forgotten.
  std::uint64_t through = 0;  ///< The last record that is forgotten.

  friend bool operator==(const AuditRecord&, const AuditRecord&) = default;
};

/// Longer texts of a record are cut.
inline constexpr std::size_t kAuditTextBytesMax = 1024;

/// On one line. Bytes that are no UTF-8 become U+FFFD.
std::string to_json(const AuditRecord& record);
/// Error: ParseError. Fields that are not known are passed over.
Result<AuditRecord> parse_audit_record(std::string_view json);

/// `2026-11-21T17:56:59.012Z`
std::string audit_time_text(std::int64_t unix_ms);

}  // namespace penstock::supervisor
