// Where the data of other workers can be fetched.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/protocol/assign.hpp"

namespace penstock::worker {

/// The data addresses of the other workers, as the supervisor has told them to one incarnation. One for each worker of
/// the cluster.
class PeerAddresses {
 public:
  /// Applies what the supervisor says. Returns the addresses of workers that are gone: transfers from there are over.
  std::vector<std::string> note(const PeerAddressBatch& batch);
  /// Null: the worker is unknown, or gone.
  const std::string* find(WorkerId worker) const;
  void clear() { addresses_.clear(); }

 private:
  std::map<WorkerId, std::string> addresses_;
};

}  // namespace penstock::worker
