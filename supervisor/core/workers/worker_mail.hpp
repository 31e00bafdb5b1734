// Messages to workers that gather during an event.
#pragma once

#include <cstddef>
#include <vector>

#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Gathers the messages to workers during an event and hands them to the shell at its end: for each worker the
/// addresses of peers first, then its messages in order, then the number of its applied reports. Callers extend the
/// last message of a worker where it is of the same kind, so that one event makes few messages.
/// Invariant: outside of an event nothing is gathered. Mail boxes are few and reused: they stay in the cache however
/// many workers there are.
class WorkerMail {
 public:
  WorkerMail(WorkerTable& workers, CommitGate& gate, const EventContext& event)
      : workers_(workers), gate_(gate), event_(event) {}
  WorkerMail(const WorkerMail&) = delete;
  WorkerMail& operator=(const WorkerMail&) = delete;

  /// Drops the message if the worker is gone.
  void tell(WorkerSlot worker, ToWorker message);
  /// The messages gathered for the worker; it gets its new peers and the count of its reports even if there are none.
  std::vector<ToWorker>& of(WorkerSlot worker);
  /// The last message for the worker if it is a `Message` of this job, else a new one.
  template <class Message>
  Message& last(WorkerSlot worker, JobId job);
  /// The same, for data that were lost or are not needed.
  DropBatch& last_drops(WorkerSlot worker, JobId job, bool lost);
  /// The same, for cancels of `alone` attempts or of attempts with their successors.
  CancelBatch& last_cancels(WorkerSlot worker, JobId job, bool alone);
  /// The same, with fewer than `size_max` data in it.
  KeepBatch& last_keeps(WorkerSlot worker, JobId job, const JobIdentity& identity, std::size_t size_max);

  /// The worker is about to be told of data on that peer: it must know where the peer is.
  void introduce(WorkerSlot worker, WorkerId peer);

  /// Hands over everything. With a journal the counts of applied reports wait for `acknowledge_reports`.
  void flush();
  /// Tells workers how many of their reports are applied, as soon as the records of this event are on the disk: until
  /// then only they can repeat them. REQUIRES: all progress that rests on reports has been recorded.
  void acknowledge_reports();

 private:
  struct Box {
    WorkerSlot worker;
    std::vector<ToWorker> messages;
  };
  void flush(Box& box);

  WorkerTable& workers_;
  CommitGate& gate_;
  const EventContext& event_;
  std::vector<Box> boxes_;  ///< The first `used_` are in use; the others keep their memory.
  std::size_t used_ = 0;
  std::vector<WorkerSlot> unacknowledged_;  ///< Workers with `owed_applied`.
};

template <class Message>
Message& WorkerMail::last(WorkerSlot worker, JobId job) {
  std::vector<ToWorker>& messages = of(worker);
  if (!messages.empty())
    if (auto* last = std::get_if<Message>(&messages.back()); last != nullptr && last->job == job) return *last;
  Message message;
  message.job = job;
  return std::get<Message>(messages.emplace_back(std::move(message)));
}

}  // namespace penstock::supervisor
