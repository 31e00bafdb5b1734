// Gangs begin when all their slots are held at once, and nothing stays held for too long: what was said and answered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/entitlement.hpp"
#include "common/protocol/report.hpp"
#include "common/protocol/resources.hpp"

namespace penstock::simulation {

/// The slots that one worker was told to hold for gangs, and says that it holds.
class ReservationWitness {
 public:
  /// A word to a worker takes effect now; it gives back what it holds `margin` after the supervisor should have.
  void told(const Entitlement& entitlement, Instant now, Duration margin);
  void answered(const BarrierAnswer& answer);
  void forgotten(JobId job);
  /// Another life of the supervisor: nothing is held, and what was closed stays closed.
  void returned();
  void clear() { *this = {}; }

  /// Nothing of the job may start there.
  bool is_closed(JobId job, BandIndex band) const { return closed_.contains({job, band}); }
  bool holds(JobId job, BandIndex band, std::uint64_t barrier) const;
  /// Whatever the barrier.
  MilliSlots held_for(JobId job, BandIndex band) const;
  /// Slots that nobody else may run on at `now`; `run_by` says what runs of a job hold of them already. A slot past its
  /// time is free for all: a worker that has stood still gives it back, lets others start, and says so in one step.
  MilliSlots kept_from(JobId job, BandIndex band, Instant now, const std::function<MilliSlots(JobId)>& run_by) const;
  /// Adds processors, and of what `held` names, that may be kept there for gangs of other jobs.
  void add_beside(JobId job, BandIndex band, ResourceVector& held) const;
  /// Slots that are still to be given back at `now`, though their time is over; empty: none.
  std::string overdue(Instant now) const;

 private:
  using Place = std::pair<JobId, BandIndex>;
  struct Asked {
    std::uint64_t barrier = 0;
    MilliSlots slots;
    Instant until{};
    bool held = false;
    MilliCpu cpu;
    std::vector<NamedAmount> named;
  };
  std::map<Place, Asked> asked_;
  std::map<Place, bool> closed_;
};

/// The words of one life of the supervisor to workers about barriers of gangs.
class BarrierWitness {
 public:
  struct Place {
    WorkerId worker;
    BandIndex band;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  /// The barrier that this opens, the first time; 0: none.
  std::uint64_t told(WorkerId worker, const Entitlement& entitlement);
  /// Whether this lets the gang begin on bands of that kind, of which it was let hold none in this life, without any
  /// barrier. Before `told`.
  bool begins_unasked(WorkerId worker, BandKind kind, const Entitlement& entitlement, bool knows_barriers);
  /// Slots that it was to hold, all together, as far as that has not been said to be over.
  MilliSlots asked_for(JobId job, std::uint64_t barrier) const;
  /// Where its slots are to be held, as far as that has not been said to be over.
  std::vector<Place> places_of(JobId job, std::uint64_t barrier) const;
  /// Whether what the worker gives back there is what the gang was let begin on, as far as was said since.
  bool has_begun_on(const Place& place, const BarrierAnswer& answer) const;
  void clear() { *this = {}; }

 private:
  struct Told {
    std::uint64_t barrier = 0;
    MilliSlots slots;
    std::uint64_t opened = 0;  ///< The barrier that this was the end of.
  };
  std::map<std::pair<JobId, Place>, Told> told_;
  std::set<std::pair<JobId, BandKind>> begun_;
  std::set<std::pair<JobId, std::uint64_t>> opened_;
};

}  // namespace penstock::simulation
