// The slots that policy allows each job to hold here, and those that are reserved for gangs.
#pragma once

#include "common/protocol/config.hpp"
#include "common/protocol/entitlement.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/job_table.hpp"

namespace penstock::worker {

struct Band;
class BandPump;
class Bands;
struct Tables;

/// Applies the plans of the supervisor to the latches of all bands, and answers for gangs once all their slots are
/// held, or were given back (decision 0016). A plan that is older than the one in force is ignored.
class Entitlements {
 public:
  Entitlements(const WorkerConfig& config, EventContext& event, Tables& tables, Bands& bands, BandPump& pump)
      : config_(config), event_(event), tables_(tables), bands_(bands), pump_(pump) {}
  Entitlements(const Entitlements&) = delete;
  Entitlements& operator=(const Entitlements&) = delete;

  void apply(const EntitlementBatch& message);
  void leave_barriers(JobSlot slot);
  /// Answers once for each gang.
  void answer_barriers();
  /// Policy publishes its plan again; until then no limit of an earlier term applies. But a job that was closed for a
  /// gang stays closed under the next term of the supervisor, until that opens it: otherwise a part of the gang would
  /// begin alone.
  void term_ended() { version_ = 0; }
  void lift(JobSlot slot);
  /// Of the next change at a barrier.
  Instant deadline() const;
  void validate() const;

 private:
  void leave_barrier(JobSlot slot, Band& band, bool opens);
  void give_back_barriers_left();

  const WorkerConfig& config_;
  EventContext& event_;
  Tables& tables_;
  Bands& bands_;
  BandPump& pump_;
  std::uint64_t version_ = 0;
};

}  // namespace penstock::worker
