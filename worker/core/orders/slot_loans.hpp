// Runs that lend their slot while they wait for nested work, and want it back.
#pragma once

#include "worker/core/event_context.hpp"
#include "worker/core/events.hpp"

namespace penstock::worker {

class Bands;
struct Reports;
struct Tables;

/// Spec: worker 2. Cost: O(log n).
class SlotLoans {
 public:
  SlotLoans(EventContext& event, Tables& tables, Bands& bands, Reports& reports)
      : event_(event), tables_(tables), bands_(bands), reports_(reports) {}

  void lend(const worker_event::SlotYielded& event);
  void want_back(const worker_event::SlotWanted& event);
  /// Another life of the supervisor takes claimed runs for holders of slots.
  void tell_again();

 private:
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  Reports& reports_;
};

}  // namespace penstock::worker
