// A link to a later term of the supervisor.
#pragma once

#include <variant>
#include <vector>

#include "common/protocol/handshake.hpp"
#include "common/protocol/report.hpp"

namespace penstock::worker {

/// Between a worker and its link: once a later term of the supervisor has made the link anew, nothing passes before the
/// worker has introduced itself again. The worker hears of the new link among other news, and repeats what it has said
/// meanwhile behind its introduction.
class RenewedLink {
 public:
  void renew() { expects_register_ = true; }
  /// Whether the messages of a round may be sent. REQUIRES: there are some.
  bool takes(const std::vector<FromWorker>& messages) {
    if (std::holds_alternative<Register>(messages.front())) expects_register_ = false;
    return !expects_register_;
  }

 private:
  bool expects_register_ = false;
};

}  // namespace penstock::worker
