// The jobs of a trace as one policy sees them, and the amounts that they take of bands.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "supervisor/policy/parts.hpp"
#include "tools/policy/replay/replay_rooms.hpp"

namespace penstock::policy {

/// Where slots are counted, parts of devices are counted by `granularity_with`, and a gang is one member, which is
/// together on one band or has whole ones; where quotas count, each member stands for itself. So the supervisor shows
/// them.
class ReplayRequests {
 public:
  /// Both outlive it.
  ReplayRequests(const ReplayTrace& trace, const Parts& parts, const TypicalRequests& typical);

  bool by_slots() const { return by_slots_; }
  /// The bands of the trace, with slots as they are counted.
  const std::vector<Band>& bands() const { return empty_.bands; }
  std::vector<Member> members_of(const ReplayJob& job) const;
  /// The amounts that one member takes.
  RoomDemand demand_of(const ReplayJob& job) const;
  /// How many members of the job a start on that band would put there, at least.
  std::int64_t together_on(const ReplayJob& job, std::uint32_t band) const;
  /// The amounts that the members take where they have been placed. REQUIRES: a plan has placed them; under a policy
  /// that counts slots none places a job without devices.
  std::vector<RoomHolding> holdings_of(const ReplayJob& job, const std::vector<Member>& members) const;

  /// Jobs alike in all that a band must have for them have one kind.
  std::uint32_t kind_of(std::size_t job) const { return kinds_[job]; }
  std::size_t kinds() const { return possible_.size(); }
  /// Bands that could hold a member if they were empty, ascending; none if the job as a whole could never be placed.
  const std::vector<std::uint32_t>& possible(std::uint32_t kind) const { return possible_[kind]; }
  /// A gang that could never be placed although there is room for all its members: not on one band, nor on whole ones.
  bool fits_in_parts(std::uint32_t kind) const { return in_parts_[kind]; }

 private:
  void add_kind(const ReplayJob& job, const ReplayRooms& rooms);
  bool fits_as_gang(const ReplayJob& job, const std::vector<std::uint32_t>& possible, ReplayRooms rooms);
  std::int64_t slots_of(const ReplayJob& job) const;

  const Parts& parts_;
  const bool by_slots_;
  std::int64_t granularity_ = 1000;
  Snapshot empty_;
  std::vector<std::uint32_t> kinds_;  ///< By job.
  std::vector<std::vector<std::uint32_t>> possible_;
  std::vector<bool> in_parts_;
};

}  // namespace penstock::policy
