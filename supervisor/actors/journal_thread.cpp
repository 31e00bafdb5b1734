#include "supervisor/actors/journal_thread.hpp"

#include "supervisor/store/journal.hpp"

namespace penstock::supervisor {

JournalThread::JournalThread(std::unique_ptr<Storage> storage, std::uint64_t next_number, JournalHandlers handlers,
                             Duration retry_after)
    : handlers_(std::move(handlers)),
      retry_after_(retry_after),
      storage_(std::move(storage)),
      next_number_(next_number),
      thread_([this] { run(); }) {}

JournalThread::~JournalThread() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void JournalThread::write(supervisor_action::Persist&& order) {
  {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(order));
  }
  changed_.notify_one();
}

/// Waits for something to write, or after a failure for its next try. False at the end, when nothing is left.
bool JournalThread::wait_and_take(std::vector<supervisor_action::Persist>& taken, bool after_failure) {
  std::unique_lock lock{mutex_};
  if (after_failure)
    changed_.wait_for(lock, retry_after_, [this] { return ending_; });
  else
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
  taken.clear();
  taken.swap(waiting_);
  return !ending_ || !taken.empty() || after_failure;
}

void JournalThread::run() {
  std::vector<supervisor_action::Persist> taken;
  StorageBatch batch;  // Entries that could not be written stay in it.
  std::uint64_t ticket = 0;
  bool failed = false;
  while (wait_and_take(taken, failed)) {
    for (const supervisor_action::Persist& order : taken)
      for (const Record& record : order.records) write_record(record, next_number_++, batch);
    if (!taken.empty()) ticket = taken.back().ticket;
    const Result<void> committed = storage_->commit(batch, Sync::Yes);
    failed = !committed.has_value();
    // The order matters: entries that were on the disk before the lease was found to be ours are in every state that
    // the next holder reads.
    if (handlers_.may_report && !handlers_.may_report()) break;
    if (committed) {
      batch.changes.clear();
      handlers_.on_persisted(ticket);
      continue;
    }
    handlers_.on_failed(committed.error());
    const std::lock_guard lock{mutex_};
    if (ending_) break;
  }
  static_cast<void>(storage_->close().has_value());  // No error can be reported any more.
}

}  // namespace penstock::supervisor
