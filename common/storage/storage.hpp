// An ordered map from bytes to bytes that survives the process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace penstock {

/// Changes that take effect together or not at all, in this order.
struct StorageBatch {
  enum class Kind : std::uint8_t {
    Put,
    Erase,        ///< One key; it need not be there.
    ErasePrefix,  ///< All keys with this prefix.
  };
  struct Change {
    Kind kind = Kind::Put;
    std::string key;
    std::string value;
  };

  void put(std::string key, std::string value) { changes.push_back({Kind::Put, std::move(key), std::move(value)}); }
  void erase(std::string key) { changes.push_back({Kind::Erase, std::move(key), {}}); }
  void erase_prefix(std::string prefix) { changes.push_back({Kind::ErasePrefix, std::move(prefix), {}}); }
  bool empty() const { return changes.empty(); }

  std::vector<Change> changes;
};

/// Whether a commit is on the disk when the call returns, or may follow later.
enum class Sync : std::uint8_t { No, Yes };

/// Called for each entry, in the order of keys compared as bytes; false ends the scan.
using ScanVisit = std::function<bool(std::string_view key, std::string_view value)>;

/// An ordered map from bytes to bytes that survives the process.
///
/// Invariant: a batch is there whole or not at all, also after a crash. When a `Sync::Yes` commit has returned success,
/// it survives a crash, and so does everything that was committed before it. A failed commit has changed nothing. Owned
/// by one thread at a time.
/// Errors of all members: StorageFull, StorageDamaged (a checksum failed; the bytes are not returned), WrongState
/// (closed before), and Internal with the system's words for errors without a code of their own.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual Result<std::optional<std::string>> get(std::string_view key) = 0;
  /// All entries with keys that begin with `prefix`; an empty prefix means everything.
  virtual Result<void> scan(std::string_view prefix, const ScanVisit& visit) = 0;
  virtual Result<void> commit(const StorageBatch& batch, Sync sync) = 0;
  /// Writes all that is not on the disk yet, and closes. A second call changes nothing.
  virtual Result<void> close() = 0;
};

/// The smallest key that is larger than all that begin with `prefix`; none if there is no such key.
std::optional<std::string> end_of_prefix(std::string_view prefix);

}  // namespace penstock
