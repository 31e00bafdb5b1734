// The disk that the lives of a simulated supervisor share.
#pragma once

#include <cstdint>
#include <deque>

#include "supervisor/core/actions.hpp"
#include "tests/support/record_log.hpp"

namespace penstock::simulation {

class SupervisorHost;
class World;

/// Writes the records of the core in order, as much as waits together, and tells when they are on the disk; now and
/// then it is full, or slow.
class SupervisorDisk {
 public:
  explicit SupervisorDisk(SupervisorHost& host);

  void write(supervisor::supervisor_action::Persist&& order);
  /// Nothing can be written for so long.
  void fill(Duration duration);
  /// The process dies: of what was on its way to the disk, some may have arrived, though nobody has heard of it.
  void crash();

  const supervisor::RecordLog& content() const { return log_; }
  void put_back(const supervisor::RecordLog& content) { log_ = content; }

 private:
  void write_first(std::uint64_t count);
  void write_later(Duration delay);
  void try_to_write();

  SupervisorHost& host_;
  World& world_;
  supervisor::RecordLog log_;
  std::deque<supervisor::supervisor_action::Persist> waiting_;  ///< Graphs in them are the core's, as in production.
  Instant full_until_{};
  Duration delay_max_{0};
};

}  // namespace penstock::simulation
