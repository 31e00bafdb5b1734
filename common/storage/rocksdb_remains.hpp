// Recovers the intact content of a damaged RocksDB directory.
#pragma once

#include <rocksdb/db.h>

#include <string>

#include "common/storage/rocksdb_storage.hpp"

namespace penstock {

/// Merges the intact blocks of all sorted files and the intact records of all logs of `directory` into `target`, which
/// is empty. Of several values of a key the last written one is in force, whichever file it is in, and erased entries
/// stay erased: every piece has its number in the order of writing. The lists of files serve only to find files that
/// are superseded or missing. The directory is only read. Each file is read once from beginning to end; a few dozen
/// bytes are kept for each key. Error: that of the target.
rocksdb::Status copy_remains(const std::string& directory, const rocksdb::Options& options, rocksdb::DB& target,
                             SalvageOutcome& outcome);

/// The condition of the logs of a directory.
struct LogsRead {
  std::uint64_t gaps = 0;  ///< Unreadable places before readable ones.
  bool torn = false;       ///< The end of the newest log cannot be read.
};
LogsRead read_logs(const std::string& directory);
/// Cuts the unreadable end off the newest log, synced. REQUIRES: it was not promised. Error: Internal.
Result<void> cut_torn_log(const std::string& directory);

}  // namespace penstock
