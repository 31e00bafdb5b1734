// The directory of the state that survives a supervisor's process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/protocol/config.hpp"
#include "common/storage/rocksdb_storage.hpp"
#include "supervisor/actors/lease_keeper.hpp"
#include "supervisor/store/journal.hpp"

namespace penstock::supervisor {

/// A journal that has been read and can be written. One owner.
struct OpenJournal {
  std::shared_ptr<LeaseKeeper> lease;  ///< Ends behind the storage, so that no other supervisor gets it before.
  std::unique_ptr<Storage> storage;
  Recovered recovered;
};

struct StateOptions {
  std::string directory;  ///< Made if it is not there.
  Damage damage = Damage::Refuse;
  Duration lease = SupervisorConfig{}.lease;
  /// Of a standby: its observations of the holder so far. Null: a live holder is left alone.
  LeaseWatch* watch = nullptr;
  /// Called with every loss before the supervisor goes on from the rest; may be empty.
  std::function<void(const JournalLoss&)> tell{};
  bool new_branch =
      false;  ///< An operator knows that the state does not go on from where it was left; see `renew_branch`.
};

/// Opens the journal in the directory and reads it whole. `Damage::Salvage` removes damaged parts, lists them in
/// `recovered.losses`, and keeps the damaged original beside the state. A salvage that ended before it had reported
/// them is repeated: until then the state counts as damaged. Errors: StorageLocked (names host and process of the
/// holder), StorageDamaged, StorageFull, VersionMismatch, InvalidArgument (the directory cannot be written to).
Result<OpenJournal> open_state_directory(const StateOptions& options);

/// A state that no other process can reach.
struct HeldState {
  std::unique_ptr<FileLease> lease;
  std::string access;  ///< The name under which the journal's files are ours (`RocksdbOptions::reached_by`).
};
/// Errors: StorageLocked, StorageFull, InvalidArgument.
Result<HeldState> hold_state(const std::string& directory, LeaseWatch* watch);

/// Where the journal of a state is.
std::string journal_of(const std::string& directory);
/// The options of the journal's storage, for every opener.
RocksdbOptions journal_options(const std::string& directory);

}  // namespace penstock::supervisor
