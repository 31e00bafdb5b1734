// The thread that waits for the disk.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/base/time.hpp"
#include "common/storage/storage.hpp"
#include "supervisor/core/actions.hpp"

namespace penstock::supervisor {

/// Called on the journal's thread.
struct JournalHandlers {
  std::function<void(std::uint64_t)> on_persisted;  ///< Everything up to this ticket is on the disk.
  std::function<void(const Error&)> on_failed;      ///< For each try that failed; it tries again by itself.
  /// Asked between a commit and `on_persisted`: whether the state is still ours. Empty: always. After an error nothing
  /// is reported any more, because another supervisor owns the state.
  std::function<Result<void>()> may_report{};
};

/// Writes the records that the core orders, in order, on a thread of its own. Group commit: it takes all waiting
/// records and syncs once, so a slow disk makes larger batches. A batch that could not be written stays first in line
/// and is tried again. Encodes on its own thread, too: it reads graphs there, which therefore live until they are known
/// to be written.
class JournalThread {
 public:
  JournalThread(std::unique_ptr<Storage> storage, std::uint64_t next_number, JournalHandlers handlers,
                Duration retry_after = std::chrono::seconds{1});
  /// Writes the waiting records, with one try, and closes the storage.
  ~JournalThread();

  /// From the owner's thread. REQUIRES: a graph in it lives until its ticket is reported, or until the end of this.
  void write(supervisor_action::Persist&& order);

 private:
  void run();
  bool wait_and_take(std::vector<supervisor_action::Persist>& taken, bool after_failure);

  const JournalHandlers handlers_;
  const Duration retry_after_;
  std::unique_ptr<Storage> storage_;  ///< Of the thread.
  std::uint64_t next_number_;         ///< The same.
  std::mutex mutex_;                  ///< Guards the three below; never held while the disk is waited for.
  std::condition_variable changed_;   ///< Something waits, or the end has come.
  std::vector<supervisor_action::Persist> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace penstock::supervisor
