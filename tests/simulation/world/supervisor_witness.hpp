// Checks of a simulated supervisor: each event, order, answer and plan of its core.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/supervisor_core.hpp"
#include "tests/simulation/world/barrier_witness.hpp"
#include "tests/simulation/world/gang_witness.hpp"
#include "tests/simulation/world/idle_witness.hpp"
#include "tests/simulation/world/limit_witness.hpp"
#include "tests/simulation/world/watchdog_witness.hpp"

namespace penstock::simulation {

class SupervisorHost;
class World;
class WorkerHost;

/// A watchdog that waits for so long and gives alarm has found something; in other worlds it is drawn to be impatient.
inline constexpr Duration kWatchdogPatient = std::chrono::seconds{60};

/// Reads the supervisor, its settings and the world, for its witnesses.
class SupervisorView {
 public:
  explicit SupervisorView(SupervisorHost& host);

 protected:
  const supervisor::SupervisorCore& core() const;
  const SupervisorConfig& config() const;

  SupervisorHost& host_;
  World& world_;
};

/// The plans of the policy: no band gives more than it has, limits hold, gangs have all or nothing.
class PlanWitness : SupervisorView {
 public:
  using SupervisorView::SupervisorView;
  void pass_begins(const policy::Snapshot& snapshot);
  /// One that was given up, or has failed, changes nothing.
  bool applies(const supervisor::supervisor_event::PassEnded& ended) const;
  void check_plan() const;
  void check_limits_and_gangs() const;
  void check_one_pool() const;
  void check_together();
  void check_groups(JobId id, const supervisor::Job& job,
                    const std::vector<supervisor::BandSlot>& bands) const;
  void stood_still() { gangs_.stood_still(); }
  void forget() {
    limits_ = {};
    gangs_ = {};
    bound_ = {};
  }

 private:
  std::vector<std::uint64_t> count_started() const;
  Duration longest_grace() const;
  std::set<std::pair<BandId, bool>> bands_now() const;

  std::vector<std::uint64_t> started_before_;       ///< By band, when the pass under way began.
  std::set<std::pair<BandId, bool>> bands_before_;  ///< Workers that were there then.
  LimitWitness limits_;
  GangWitness gangs_;
  std::set<JobId> bound_;  ///< Gangs that hold slots since their work was bound to places.
};

/// The words about barriers: a gang begins when all its slots are held.
class GangStartWitness : SupervisorView {
 public:
  using SupervisorView::SupervisorView;
  void told(WorkerId id, const Entitlement& entitlement);
  /// A worker that has had no word for too long gives back what it holds for a gang.
  void check_give_back(WorkerHost& host, const BarrierAnswer& answer) const;
  void clear() { barriers_.clear(); }

 private:
  bool gave_up_but_runs(const supervisor::Job& job, BandKind kind, std::uint64_t barrier) const;
  void check_whole(const supervisor::Job& job, BandKind kind, MilliSlots asked) const;
  void check_begin(WorkerId id, const Entitlement& entitlement);

  BarrierWitness barriers_;
};

/// The orders to workers, and the answers to operators.
class OrderWitness : SupervisorView {
 public:
  using SupervisorView::SupervisorView;
  void ordered(const supervisor::supervisor_action::SendToWorker& order);
  void answered(const supervisor::supervisor_action::SendToClient& word);
  /// Whether the life that gave the attempt out knew of a success.
  bool wanted_again(SubtaskId subtask, Attempt attempt) const { return wanted_again_.contains({subtask, attempt}); }
  /// A state was put back: a drained worker begins afresh.
  void forget_drains() { drained_.clear(); }

 private:
  void note_drain(const AdminAnswer& answer);
  void check_place(WorkerId id, JobId number) const;
  void check_grace(const CancelBatch& order) const;
  void note_cancel(WorkerId worker, const CancelBatch& order) const;

  /// Workers with a drain that was answered and not ordered otherwise since: no incarnation of ours may give them
  /// anything.
  std::set<WorkerId> drained_;
  std::set<std::pair<SubtaskId, Attempt>> wanted_again_;  ///< Of all lives.
};

/// Progress, and the alarms of the watchdog where there is none.
class ProgressWitness : SupervisorView {
 public:
  explicit ProgressWitness(SupervisorHost& host);
  static bool is_progress(const supervisor::SupervisorEvent& event);
  void look(bool progress);
  void stood_still_until(Instant when) { watchdog_.progress(when); }
  /// Another life begins.
  void begin();

 private:
  WatchdogWitness watchdog_;
  std::size_t running_jobs_ = 0;  ///< After the last event, as far as clients know them.
  std::uint64_t alarms_ = 0;      ///< Of this life.
  std::uint64_t succeeded_ = 0;   ///< The same.
};

/// A supervisor's core under observation: stands where the shell has the core, hands each event on and looks at what
/// comes of it.
class SupervisorWitness : SupervisorView {
 public:
  explicit SupervisorWitness(SupervisorHost& host);

  /// Another life of the supervisor begins with this core.
  void begin(std::unique_ptr<supervisor::SupervisorCore> core);
  void handle(supervisor::SupervisorEvent&& event, Instant now, Actions<supervisor::SupervisorAction>& actions);
  std::optional<Instant> next_deadline() const { return core_->next_deadline(); }
  void stood_still_until(Instant when);

  const supervisor::SupervisorCore& observed() const { return *core_; }
  PlanWitness& plans() { return plans_; }
  GangStartWitness& gang_starts() { return gang_starts_; }
  OrderWitness& orders() { return orders_; }
  // Of all lives.
  std::uint64_t passes() const { return passes_before_ + core_->policy().passes; }
  std::uint64_t preemptions() const { return preemptions_before_ + core_->policy().preemptions; }
  std::uint64_t adopted() const { return adopted_before_ + core_->counters().adopted; }

 private:
  void note(const supervisor::SupervisorEvent& event) const;
  void check_followers() const;
  void give_up_absent() const;
  void look_at(const supervisor::SupervisorAction& action);

  std::unique_ptr<supervisor::SupervisorCore> core_;
  PlanWitness plans_;
  GangStartWitness gang_starts_;
  OrderWitness orders_;
  ProgressWitness progress_;
  IdleWitness idle_;
  bool reclaiming_ = false;
  std::uint64_t handled_ = 0;
  std::uint64_t adopted_before_ = 0;
  std::uint64_t passes_before_ = 0;
  std::uint64_t preemptions_before_ = 0;
};

}  // namespace penstock::simulation
