// What is left of a RocksDB directory whose list of files is damaged.
#pragma once

#include <rocksdb/options.h>

#include <string>

#include "common/base/result.hpp"
#include "common/storage/rocksdb_storage.hpp"

namespace penstock {

/// Lets `CURRENT` name the newest list of files when it names none: it says nothing else, and is small enough to be
/// damaged whole.
void restore_root(const std::string& directory);

/// Copies what each sorted file of the directory holds, without their list. Of several values of a key the last that
/// was written wins, whichever file it is in. Each file is opened as a database of its own in a folder beside it, which
/// does not stay. Error: that of the target; a file that cannot be read only counts.
Result<void> copy_each_file(const std::string& directory, const rocksdb::Options& options, Storage& target,
                            SalvageOutcome& outcome);

}  // namespace penstock
