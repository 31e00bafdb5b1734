// What is left of a damaged RocksDB directory.
#pragma once

#include <rocksdb/db.h>

#include <optional>
#include <string>

#include "common/storage/rocksdb_end.hpp"
#include "common/storage/rocksdb_storage.hpp"

namespace penstock {

/// Copies into `target`, which is empty, what the intact blocks of all sorted files and the intact records of all logs
/// of `directory` say together. Of several values of a key the last that was written is in force, whichever file it is
/// in, and what was erased stays away: every piece has its number in the order of writing. Nothing is asked of the
/// lists of files but which of them are there in vain, or missing. The directory is only read. Each file is read once
/// from its beginning to its end; for each key a few dozen bytes are kept. Error: that of the target.
rocksdb::Status copy_remains(const std::string& directory, const rocksdb::Options& options, rocksdb::DB& target,
                             SalvageOutcome& outcome);

/// What the logs of a directory say of their own end; they are only read.
struct LogsRead {
  std::uint64_t gaps = 0;  ///< Places that cannot be read, with something behind them that can.
  bool torn = false;       ///< The end of the newest cannot be read.
  std::optional<CommitNumber> last{};  ///< The last commit that they have; none: they have none with a number.
};
LogsRead read_logs(const std::string& directory);
/// Takes what cannot be read off the end of the newest log, synced. REQUIRES: it was promised to nobody. Error: Internal.
Result<void> cut_torn_log(const std::string& directory);

}  // namespace penstock
