// The workers of the cluster and their bands, as the supervisor sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/large_array.hpp"
#include "common/base/lookup_map.hpp"
#include "common/base/time.hpp"
#include "common/protocol/assign.hpp"
#include "common/protocol/report.hpp"
#include "supervisor/core/waiting_jobs.hpp"

namespace penstock {
struct PolicyConfig;
}

namespace penstock::supervisor {

/// Position of a band among all bands; dense, reused after its worker is gone.
using BandSlot = Id<struct BandSlotTag, std::uint32_t>;
/// Position of a worker among all; dense, reused.
using WorkerSlot = Id<struct WorkerSlotTag, std::uint32_t>;

/// One attempt on a band.
struct AssignedRef {
  JobId job;
  std::uint32_t subtask = 0;
  std::uint64_t attempt = 0;
};

/// Outputs of one subtask.
struct HeldOutput {
  JobId job;
  std::uint32_t subtask = 0;
  friend auto operator<=>(const HeldOutput&, const HeldOutput&) = default;
};

/// The fields that every report touches come first, down to `assigned` in one cache line: with thousands of workers
/// each line is a trip to memory. Hence the flags are bits.
struct alignas(64) BandEntry {
  BandId id;
  WorkerSlot worker;
  bool alive : 1 = false;
  bool draining : 1 = false;        ///< Gets nothing new: drained by an order, suspected, or not yet claimed.
  bool dirty : 1 = false;           ///< To be filled at the end of this event.
  bool offers : 1 = false;          ///< Is among those that idle bands examine.
  bool blocked : 1 = false;         ///< By its last word something is ready that its free slots are too few for.
  bool pressed : 1 = false;         ///< Its memory is nearly full, by its last word: `load` costs something.
  bool whole_only : 1 = false;    ///< Of its several devices it gives whole ones only, because of the policy.
  BandKind kind = BandKind::Cpu;    ///< As in `description`.
  std::uint32_t slots = 1;
  std::uint32_t in_flight = 0;      ///< Attempts that it holds, cached successors included.
  std::uint32_t runnable = 0;       ///< Attempts with complete inputs.
  std::uint32_t ready_here = 0;     ///< Runnable subtasks kept at the supervisor for it, some perhaps outdated.
  Instant idle_since = kNever;      ///< Since when it has had free slots and nothing to run.
  std::vector<AssignedRef> assigned;  ///< Its attempts, oldest first; ended ones are swept out now and then.
  std::uint32_t yielded = 0;        ///< Attempts that run without a slot, by the last report: as many more may run.
  Instant progress_at{};            ///< When an attempt has ended there last, or the first one came.
  Instant may_ask_at{};             ///< The band asks no other band for sent work before.
  WaitingJobs waiting;              ///< The jobs that keep something here for it.
  std::vector<JobId> entitled;      ///< Jobs that policy gives a part of it, and perhaps some that it no longer does.
  BandLoad load;
  BandDescription description;
};

static_assert(offsetof(BandEntry, assigned) + sizeof(std::vector<AssignedRef>) <= 64, "the hot part is one line");

struct alignas(64) WorkerEntry {
  static constexpr std::uint32_t kNoOutbox = ~std::uint32_t{0};

  WorkerId id;
  bool alive = false;
  bool draining = false;
  bool drained = false;
  bool suspected = false;           ///< Nothing is heard of it: it gets nothing new.
  bool lost = false;                ///< For good, and that is being written down.
  bool has_new_peers = false;
  bool claiming = false;            ///< The worker reports its earlier work; nothing is sent before.
  bool reclaimed = false;           ///< Introduced: the worker may know addresses of other workers.
  bool owed_applied = false;        ///< `ReportsApplied` waits until the records are on the disk.
  std::uint32_t outbox = kNoOutbox;  ///< The outbox of its messages of this event.
  std::uint64_t reports_received = 0;
  std::uint64_t reports_applied_sent = 0;
  std::vector<BandSlot> bands;
  std::vector<PeerAddress> new_peers;     ///< Sent first at the end of this event.
  Incarnation incarnation;
  std::vector<HeldOutput> held;  ///< Outputs and copies that it has; those that are gone are swept out now and then.
  std::size_t sweep_held_at = 64;         ///< Size of `held` at which that is done next.
  std::vector<HeldOutput> retained;       ///< Retained outputs, oldest first; an entry may be needed again.
  LookupMap<WorkerId, bool> peers_known;  ///< Workers with a data address that it knows.
  std::vector<SubtaskId> waiting;         ///< Claimed, and cached there for producers.
  std::optional<bool> drain_order;        ///< The last one, also from before a restart; none: never.
  WorkerCounters counters;                ///< As it has said last.
  Register description;
};

/// The positions of a worker's entries.
struct WorkerPlace {
  WorkerSlot worker;
  BandSlot first_band;  ///< None if it has no band. Most have one.
};

/// Passive bookkeeping: finds workers by id and hands out dense slots.
class WorkerTable {
 public:
  WorkerSlot add(WorkerId id, Incarnation incarnation, const Register& description);
  void remove(WorkerSlot slot);
  /// None if unknown or gone.
  WorkerSlot find(WorkerId id) const { return place_of(id).worker; }
  /// By name, or else by number (`w1`).
  WorkerSlot find(const std::string& name) const;
  /// Whether a selector means the band. A worker is named as in `find`.
  bool selects(const BandSelector& selector, const BandEntry& band) const;
  /// Whether a worker that has been here does not run the jobs of that user. Cost: that of the lists of users that
  /// differ.
  bool some_refuse(const std::string& user) const;
  /// Of how many lists of users the workers were that have been here.
  std::size_t user_lists() const { return user_lists_.size(); }
  /// Invalidates selectors that name this worker by number.
  void touch_numbered(const std::string& name);
  /// Both none if unknown or gone.
  WorkerPlace place_of(WorkerId id) const {
    const WorkerPlace* found = index_.find(Number{id});
    return found == nullptr ? WorkerPlace{} : *found;
  }

  WorkerEntry& operator[](WorkerSlot slot) { return workers_[slot.value()]; }
  const WorkerEntry& operator[](WorkerSlot slot) const { return workers_[slot.value()]; }
  BandEntry& operator[](BandSlot slot) { return bands_[slot.value()]; }
  const BandEntry& operator[](BandSlot slot) const { return bands_[slot.value()]; }
  const WorkerEntry& worker_of(BandSlot slot) const { return workers_[bands_[slot.value()].worker.value()]; }
  WorkerEntry& worker_of(BandSlot slot) { return workers_[bands_[slot.value()].worker.value()]; }

  std::uint32_t band_slots() const { return static_cast<std::uint32_t>(bands_.size()); }
  std::uint32_t worker_slots() const { return static_cast<std::uint32_t>(workers_.size()); }
  std::uint32_t alive_bands() const { return alive_bands_; }
  std::uint32_t alive_workers() const { return alive_workers_; }
  /// Counts the changes: bands that appear, go, start or end draining.
  std::uint64_t epoch() const { return first_epoch_ + changes_.size(); }
  /// The band has changed. Adding and removing workers do so by themselves.
  void touch(BandSlot band);
  /// False if changes after that epoch have been forgotten; epoch 0 is always forgotten.
  bool remembers(std::uint64_t epoch) const { return epoch >= first_epoch_; }
  /// The bands that have changed since, oldest first, some more than once. REQUIRES: remembers(epoch).
  std::span<const BandSlot> changed_since(std::uint64_t epoch) const {
    return std::span{changes_}.subspan(static_cast<std::size_t>(epoch - first_epoch_));
  }

 private:
  /// Numbers of workers are counted up: by their own value they fill the table without a gap, neighbours beside each
  /// other, where a hash would send each to a line of its own.
  struct Number {
    WorkerId id;
    friend bool operator==(Number, Number) = default;
    friend std::uint64_t hash_of(Number number) { return number.id.value(); }
  };

  LookupMap<Number, WorkerPlace> index_;
  LargeArray<WorkerEntry> workers_;
  LargeArray<BandEntry> bands_;
  std::vector<WorkerSlot> free_workers_;
  std::vector<BandSlot> free_bands_;
  std::set<std::vector<std::string>> user_lists_;  ///< Of workers that run jobs of some users only.
  std::uint32_t alive_bands_ = 0;
  std::uint32_t alive_workers_ = 0;
  std::uint64_t first_epoch_ = 1;
  std::vector<BandSlot> changes_;  ///< Since `first_epoch_`.
};

inline constexpr std::size_t kWorkerBandsMax = 1024;
inline constexpr std::uint32_t kCrashMessageBytesMax = 1024;

/// Whether a worker's words about itself can be believed: names that people can read, no amount below zero, at most
/// `kWorkerBandsMax` bands. Error: InvalidArgument.
Result<void> check_registration(const Register& description, std::uint32_t name_bytes_max);
/// Whether a worker that introduces itself again is still in the same pool and has the same devices: else what it runs
/// is no longer what was placed there, and it must begin anew. Spec: policy-determined 9.4.
Result<void> check_unchanged(const Register& known, const Register& reported, const PolicyConfig& policy);

}  // namespace penstock::supervisor
