// The directory in which a supervisor keeps what must outlive it.
#pragma once

#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/storage/storage.hpp"
#include "supervisor/store/journal.hpp"

namespace penstock::supervisor {

/// A journal that has been read and can be written. One owner.
struct OpenJournal {
  std::unique_ptr<Storage> storage;
  Recovered recovered;
};

/// Opens the journal in `directory`, which is made if it is not there, and reads it whole. With `Damage::Salvage` what
/// is damaged is taken out, listed in `recovered.losses`, and the damaged original is kept beside it. Errors:
/// StorageLocked (names host and process of the holder), StorageDamaged, StorageFull, VersionMismatch.
Result<OpenJournal> open_state_directory(const std::string& directory, Damage damage);

}  // namespace penstock::supervisor
