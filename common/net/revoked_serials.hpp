// Revoked certificates, as a worker knows them.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace penstock {

/// Serial numbers that are told one after the other; none is taken back. Any thread may use it. Memory: some 100 bytes
/// for each certificate that was revoked while the process lives.
class RevokedSerials {
 public:
  void add(const std::vector<std::string>& serials) {
    const std::lock_guard lock{mutex_};
    serials_.insert(serials.begin(), serials.end());
  }
  bool contains(const std::string& serial) const {
    const std::lock_guard lock{mutex_};
    return serials_.contains(serial);
  }

 private:
  mutable std::mutex mutex_;  // Of `serials_`.
  std::set<std::string> serials_;
};

}  // namespace penstock
