// Workers of before a restart of the supervisor, which may come back with what they hold.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"

namespace penstock::supervisor {

/// Knows which workers of before the restart are not back, and how long work that they may hold is kept for them
/// (fault F05): `supervisor.reclaim_wait` after the restart and a third of it after the last claim, twenty times that
/// at most, and longer where workers are back and have not finished their claims. Work of absent workers is given to
/// others when a record says that they are gone; until then a supervisor that ended would be followed by one that takes
/// them back. Invariant (`SupervisorCore::validate`): `claims_open` is the number of workers that claim. Cost: linear
/// in the absent workers for a worker that comes, else constant.
class Readoption {
 public:
  /// A worker of before the restart. `late`: its work may have been given to others, and a record may say that it is
  /// gone.
  struct Returned {
    record::WorkerJoined worker;
    bool late;
  };

  Readoption(const SupervisorConfig& config, CommitGate& gate, const EventContext& event)
      : config_(config), gate_(gate), event_(event) {}
  Readoption(const Readoption&) = delete;
  Readoption& operator=(const Readoption&) = delete;

  /// The state names these workers. The wait begins, if there are any.
  void begin(std::vector<record::WorkerJoined> expected);
  /// The worker has come. None: no record says that this incarnation of it may hold something.
  std::optional<Returned> take_back(WorkerId worker, Incarnation incarnation);
  /// The same for an incarnation that is known to have ended.
  std::optional<record::WorkerJoined> take_ended(Incarnation incarnation);

  /// A worker begins to say what it holds.
  void claim_begun() { ++claims_open_; }
  /// The worker has said all. More may be on their way, delayed by the same crowd: the wait goes on for a while.
  void claim_ended();
  /// The worker is lost before it has said all.
  void claim_lost() { --claims_open_; }

  /// Whether work of before the restart is still kept for workers.
  bool is_active() const { return active_; }
  /// Whether no worker is waited for any more; then the wait is to be ended.
  bool is_complete() const { return active_ && absent_.empty() && claims_open_ == 0; }
  /// Time has passed. True: the absent workers have had theirs, and the wait is to be ended. With a journal their
  /// records are written first; see `are_given_up_on_disk`.
  bool gives_up_absent();
  /// Whether records that absent workers are gone are being written.
  bool awaits_disk() const { return ticket_.has_value(); }
  /// Whether these are on the disk: the wait is to be ended.
  bool are_given_up_on_disk() const { return ticket_ && gate_.on_disk(*ticket_); }
  /// The wait is over. The absent workers stay known: late ones keep what no other has got.
  void end();

  /// When `gives_up_absent` is to be called; `kNever`: not by time.
  Instant next_due() const { return until_; }
  std::uint32_t claims_open() const { return claims_open_; }
  const std::vector<record::WorkerJoined>& absent() const { return absent_; }
  /// Workers that are not back, or have not said all.
  std::size_t missing() const { return absent_.size() + claims_open_; }

 private:
  template <class Is>
  std::optional<record::WorkerJoined> take(Is is);

  const SupervisorConfig& config_;
  CommitGate& gate_;
  const EventContext& event_;
  bool active_ = false;
  Instant until_ = kNever;
  Instant latest_ = kNever;              ///< However many workers keep coming back.
  std::optional<std::uint64_t> ticket_;  ///< Of the records that absent workers are gone.
  std::vector<record::WorkerJoined> absent_;
  std::uint32_t claims_open_ = 0;
};

}  // namespace penstock::supervisor
