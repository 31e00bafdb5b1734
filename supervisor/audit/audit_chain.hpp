// The lines of the audit's files, and the places in them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"
#include "common/security/openssl.hpp"
#include "supervisor/audit/audit_record.hpp"

namespace penstock::supervisor {

/// A point of the chain: its last record, and the digest that stands for all records up to there.
struct ChainPoint {
  std::uint64_t number = 0;
  std::string digest = std::string(64, '0');
  friend bool operator==(const ChainPoint&, const ChainPoint&) = default;
};

/// The digest of a record: of the record before it, and of its own text.
std::string chained_digest(const std::string& before, std::string_view json);
/// The text that a signature between records is for. `penstock ...`: never the bytes of a certificate.
std::string signed_text(const ChainPoint& point);
/// The text that the signature of a head is for: another one, so that no signature of the files makes a head.
std::string head_text(const ChainPoint& point);

/// A record with its digest, without a line end.
std::string record_line(const std::string& digest, const std::string& json);
std::string signature_line(const std::string& signature);

/// A line of a file: a record with a digest, or a signature of all that is before it, or neither.
struct ChainLine {
  std::string_view digest;
  std::string_view json;
  std::string_view signature;
  bool is_record() const { return !digest.empty(); }
  bool is_signature() const { return !signature.empty(); }
};
ChainLine parse_chain_line(std::string_view line);

/// The signed end of the chain, in a file of its own: a chain that is shorter was cut.
struct AuditHead {
  ChainPoint point;
  std::uint32_t file = 0;   ///< The file of the last record.
  std::uint64_t bytes = 0;  ///< Its size.
  std::string cluster;
  std::string signature;
};
inline constexpr std::size_t kHeadBytes = 512;  ///< Of its file: written in place by one call.
std::string to_text(const AuditHead& head);
/// None: it is damaged.
std::optional<AuditHead> parse_head(std::string_view text);
/// Whether that authority has signed it.
bool is_signed(const AuditHead& head, const X509& authority);

/// `audit-000001.jsonl`
std::string audit_file_name(std::uint32_t file);
/// The numbers of the files in a directory, in order.
std::vector<std::uint32_t> audit_files_in(const std::string& directory);
std::string head_file_in(const std::string& directory);
std::string lock_file_in(const std::string& directory);

/// A place in the files. The beginning of the first one: all zeros.
struct AuditPlace {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t line = 0;  ///< Lines of the file up to there.
};
/// Calls `each` with every whole line from `place` on, which moves behind it; stops when `each` returns false. A line
/// that is not ended yet is left for the next call. Error: NotFound: there is no file.
Result<void> read_audit_lines(const std::string& directory, AuditPlace& place,
                              const std::function<bool(std::string_view)>& each);

}  // namespace penstock::supervisor
