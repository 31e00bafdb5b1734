// News of certificates that a gateway tells its workers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/assign.hpp"
#include "common/protocol/handshake.hpp"
#include "common/wire/codec.hpp"

namespace penstock::supervisor {

/// Serial numbers in one notice: some 400 KB.
inline constexpr std::size_t kRevokedInNotice = 10'000;

/// Notices with all those serial numbers, as payloads of introductions.
std::vector<FramePayloadPtr> revocation_notices(const std::vector<std::string>& revoked);

/// The credentials of runs that one worker has been told. A worker has them before the work of their user.
class ToldCredentials {
 public:
  using Source = std::function<Result<std::shared_ptr<const RunCredential>>(const std::string& user)>;

  /// The users of the messages of which the worker has not been told yet, apart from its own. All of them count as told
  /// from now on.
  std::vector<RunCredential> take_new(const std::vector<ToWorker>& messages, const std::string& own,
                                      const Source& source);
  /// The credentials that have been replaced since they were told.
  std::vector<RunCredential> take_replaced(const Source& source);
  /// All, for a new connection.
  std::vector<RunCredential> all() const;

 private:
  std::map<std::string, std::shared_ptr<const RunCredential>> told_;
};

}  // namespace penstock::supervisor
