#include "worker/shell/peer_addresses.hpp"

#include <utility>

namespace penstock::worker {

std::vector<std::string> PeerAddresses::note(const PeerAddressBatch& batch) {
  std::vector<std::string> gone;
  for (const PeerAddress& peer : batch.peers) {
    if (!peer.data_address.empty()) {
      addresses_[peer.worker] = peer.data_address;
      continue;
    }
    auto known = addresses_.extract(peer.worker);
    if (!known.empty()) gone.push_back(std::move(known.mapped()));
  }
  return gone;
}

const std::string* PeerAddresses::find(WorkerId worker) const {
  const auto known = addresses_.find(worker);
  return known == addresses_.end() ? nullptr : &known->second;
}

}  // namespace penstock::worker
