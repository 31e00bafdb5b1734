// Appends to the audit of a supervisor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/security/authority.hpp"
#include "supervisor/audit/audit_chain.hpp"

namespace penstock::supervisor {

struct AuditBookOptions {
  std::string directory;
  std::uint64_t file_bytes_max = 64ULL << 20U;  ///< A file with as many bytes is followed by another one.
  std::uint32_t keep_files = 0;                 ///< 0: all; else the oldest are removed, and a record says so.
};

/// The audit in a directory, `STATE/audit`: files of chained records, and the signed end of the chain.
///
/// Records that `append` has taken are on the disk, chained to all that was there before and signed by the authority.
/// Several processes may append: each holds a lock meanwhile, and goes on from what others have written. Files that are
/// not as the audit has left them are not mended in silence: a record says what was found, and the chain goes on behind
/// it. Blocks for the disk; used by one thread. Cost: one write, one sync and one signature for each call.
class AuditBook {
 public:
  /// Makes the directory, for its owner alone. Error: InvalidArgument.
  static Result<AuditBook> open(AuditBookOptions options, Authority authority);

  /// Waits so long for a process that appends, and then goes on without it: an overtaken supervisor may have been
  /// stopped in the midst. Its late bytes, if it comes back, are found by `AuditCheck`. REQUIRES: the caller has the
  /// state for itself.
  void take_over(Duration patience);
  /// Numbers the records and appends them; their lines, and those that the book has added. Errors: StorageFull,
  /// InvalidArgument: nothing is appended.
  Result<std::vector<std::string>> append(std::vector<AuditRecord> records);
  /// The last record that is known.
  const ChainPoint& last() const { return last_; }

 private:
  AuditBook(AuditBookOptions options, Authority authority)
      : options_(std::move(options)), authority_(std::move(authority)) {}

  Result<void> catch_up();
  Result<void> read_rest(std::uint32_t file, const std::optional<AuditHead>& head);
  void found_damage(std::string what);
  std::optional<AuditHead> read_head() const;
  Result<std::vector<std::string>> write(const std::vector<AuditRecord>& records, bool begin_file);
  Result<void> append_text(const std::string& path, const std::string& text, bool begin_file);
  void write_head(const std::string& signature) const;
  std::vector<AuditRecord> forgotten() const;
  Result<void> put_aside(const std::string& path, std::uint64_t from, std::uint64_t size) const;
  std::string path_of(std::uint32_t file) const { return options_.directory + "/" + audit_file_name(file); }

  AuditBookOptions options_;
  Authority authority_;
  ChainPoint last_;
  std::uint32_t file_ = 0;            ///< The last file; 0: none is known.
  std::uint64_t bytes_ = 0;           ///< Of that file, up to `last_` and its signature.
  std::vector<AuditRecord> remarks_;  ///< Of the book itself, not written yet.
  bool begin_file_ = false;           ///< The next record begins another file.
};

}  // namespace penstock::supervisor
