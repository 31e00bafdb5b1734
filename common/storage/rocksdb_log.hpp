// What RocksDB has to say.
#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

namespace penstock {

/// The file `LOG` of that directory, which exists; the former one is kept as `LOG.old`. A line that cannot be written is
/// lost: RocksDB's own log ends the process at the second one (fault F12). For any number of threads.
std::shared_ptr<rocksdb::Logger> open_database_log(const std::string& directory);

}  // namespace penstock
