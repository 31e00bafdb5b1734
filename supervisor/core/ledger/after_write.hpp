// Operations that wait for their records.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "supervisor/core/ledger/commit_gate.hpp"

namespace penstock::supervisor {

/// Operations that go on when the records of the event that ordered them are on the disk, in the order of the events.
/// Cost: constant for an operation.
template <class Operation>
class AfterWrite {
 public:
  explicit AfterWrite(const CommitGate& gate) : gate_(gate) {}

  /// The operation waits for the records of this event.
  void add(Operation operation) { waiting_.push_back({gate_.next_ticket(), std::move(operation)}); }
  /// The first one, if its records are on the disk.
  std::optional<Operation> take_written() {
    if (waiting_.empty() || !gate_.on_disk(waiting_.front().ticket)) return {};
    std::optional operation{std::move(waiting_.front().operation)};
    waiting_.pop_front();
    return operation;
  }
  /// All, as their records cannot be written.
  std::vector<Operation> take_all() {
    std::vector<Operation> all;
    for (Waiting& each : std::exchange(waiting_, {})) all.push_back(std::move(each.operation));
    return all;
  }
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    std::uint64_t ticket;
    Operation operation;
  };

  const CommitGate& gate_;
  std::deque<Waiting> waiting_;
};

}  // namespace penstock::supervisor
