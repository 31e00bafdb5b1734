// Records for the journal, and actions that wait until the records are on the disk.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/base/result.hpp"
#include "supervisor/core/event_context.hpp"

namespace penstock::supervisor {

/// Whether actions wait until the records that they rest on are on the disk.
enum class Durability : std::uint8_t { None, Journal };

/// Gathers the records of one event under one ticket, and holds the actions of that event back until the shell reports
/// that the ticket is on the disk. Actions leave in the order in which they were deferred.
/// Invariants: tickets count up from 1 and are reported in order; no deferred action leaves before its ticket, but for
/// answers that rest on no record (see `commit`).
/// Without a journal every action leaves at once and nothing is recorded.
/// Consumes: Persisted, StorageFailed. Cost: constant for a record and for an action.
class CommitGate {
 public:
  CommitGate(Durability durability, const EventContext& event) : durability_(durability), event_(event) {}
  CommitGate(const CommitGate&) = delete;
  CommitGate& operator=(const CommitGate&) = delete;

  bool durable() const { return durability_ == Durability::Journal; }
  /// Adds a record to those of this event. Nothing happens without a journal.
  void write(Record record) {
    if (durable()) records_.push_back(std::move(record));
  }
  /// Adds a record that costs no commit of its own: it is written before the next ones, or when a job is active.
  void write_with_next(Record record) {
    if (durable()) with_next_.push_back(std::move(record));
  }
  /// Adds the progress of a job.
  void write_progress(record::SubtasksEnded progress);
  /// The ticket of this event's records.
  std::uint64_t next_ticket() const { return issued_ + 1; }
  bool on_disk(std::uint64_t ticket) const { return ticket <= persisted_; }
  /// Whether the last ticket with progress is not on the disk.
  bool progress_is_under_way() const { return progress_ticket_ > persisted_; }
  /// Why the journal cannot be written now.
  const std::optional<Error>& trouble() const { return trouble_; }

  /// The action leaves when all records of this event are on the disk.
  /// The client gets the message when everything is written that it may rest on.
  void send_to_client(ClientId client, ToClient message) {
    defer(supervisor_action::SendToClient{client, std::move(message)});
  }
  void defer(SupervisorAction action);
  /// The action leaves when all records of earlier events are on the disk.
  void defer_until_written(SupervisorAction action);
  /// Ends the event: orders the records to be written, and releases actions that need not wait. `job_is_active`:
  /// records that cost no commit of their own are written now. Refusals, and answers that rest on no record of this
  /// event, leave at once also while the disk is in trouble: they change nothing.
  void commit(bool job_is_active);

  /// All tickets up to this one are on the disk: releases the actions that waited for them. True if that ends a
  /// trouble.
  bool persisted(std::uint64_t ticket);
  /// Nothing can be written. False if that was known.
  bool fail(Error why);
  /// Withdraws a job without a written acceptance: replies that announce it become refusals and leave, and its progress
  /// is dropped. REQUIRES: trouble().
  void withdraw(JobId job);

 private:
  struct Deferred {
    std::uint64_t ticket;
    SupervisorAction action;
  };
  bool must_wait(const SupervisorAction& action) const;
  /// The refusal that takes the place of a reply that announces the job; none if the action is something else.
  std::optional<SupervisorAction> refusal_of(const SupervisorAction& action, JobId job) const;

  const Durability durability_;
  const EventContext& event_;
  std::uint64_t issued_ = 0;           ///< The last ticket.
  std::uint64_t persisted_ = 0;        ///< The last ticket that is on the disk.
  std::uint64_t progress_ticket_ = 0;  ///< The last ticket with progress.
  std::optional<Error> trouble_;
  std::deque<Deferred> deferred_;           ///< In order of their tickets.
  std::vector<Record> with_next_;
  std::vector<Record> records_;             ///< Of this event.
  std::vector<SupervisorAction> actions_;   ///< Deferred by this event.
  bool has_progress_ = false;               ///< Among `records_`.
};

}  // namespace penstock::supervisor
