// The words of a worker to its supervisor.
#pragma once

#include <utility>
#include <vector>

#include "common/protocol/handshake.hpp"
#include "common/protocol/report.hpp"

namespace penstock::worker {

/// The messages of one incarnation of a worker to its supervisor, in order, until they are sent together.
class Outbox {
 public:
  /// `description` is how the worker introduces itself to a later term of the supervisor.
  explicit Outbox(Register description) : description_(std::move(description)) { description_.reclaims = true; }

  void add(FromWorker message) { messages_.push_back(std::move(message)); }
  /// Introduces the worker as one that continues from an earlier term of the supervisor. Messages that were not taken
  /// yet are dropped: the core repeats them behind the introduction.
  void introduce_again() { messages_.assign(1, FromWorker{description_}); }

  bool empty() const { return messages_.empty(); }
  std::vector<FromWorker> take() { return std::exchange(messages_, {}); }

 private:
  Register description_;
  std::vector<FromWorker> messages_;
};

}  // namespace penstock::worker
