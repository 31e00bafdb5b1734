// The data plane of one worker: its server and its client on a thread of their own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/transfer/data_client.hpp"
#include "worker/transfer/data_server.hpp"

namespace penstock::worker {

struct TransferOptions {
  HostPort listen;
  TransferLimits limits;
  ServerLimits server;
};

/// What other processes of the host have mapped of a store.
struct MappedElsewhere {
  std::vector<DataKey> here;  ///< That the store has as well.
  Bytes beyond;               ///< Of those that it has dropped, or released to disk.
};

/// Bulk data never stands in the way of control messages: they have no thread, no socket and no queue in common.
/// Members are for the thread of the owner's loop, and so are the answers.
class TransferThread {
 public:
  /// `loop` is the owner's; loop and store outlive it. Errors: AddressInUse, InvalidArgument.
  static Result<std::unique_ptr<TransferThread>> open(Loop& loop, ObjectStore& store, const TransferOptions& options);
  /// Answers that are on their way do not arrive any more, nor do those of the store's disk.
  ~TransferThread();
  TransferThread(const TransferThread&) = delete;
  TransferThread& operator=(const TransferThread&) = delete;

  std::uint16_t port() const;
  void fetch(const HostPort& from, const DataKey& key, std::uint64_t priority, DataClient::OnDone on_done,
             const JobIdentity& identity = {});
  void abandon(const HostPort& server);
  void cancel(const DataKey& key);
  /// Asks for it. Answered at once while nothing is mapped.
  void look_at_mapped(std::function<void(const MappedElsewhere&)> tell);

 private:
  struct State;
  explicit TransferThread(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
