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
  bool locally = false;  ///< For processes of this host and user, in place of `listen`.
};

/// Data of a store that other processes of the host have mapped.
struct MappedElsewhere {
  std::vector<DataKey> here;  ///< Also in the store's memory.
  Bytes beyond;               ///< Of data that the store has dropped, or released to disk.
};

/// Bulk data never delay control messages: they share no thread, no socket and no queue. Members are called on the
/// thread of the owner's loop, and so are the answers.
class TransferThread {
 public:
  /// `loop` is the owner's; loop and store outlive it. Errors: AddressInUse, InvalidArgument.
  static Result<std::unique_ptr<TransferThread>> open(Loop& loop, ObjectStore& store, const TransferOptions& options);
  /// Answers that are still to arrive are dropped, also those of the store's disk.
  ~TransferThread();
  TransferThread(const TransferThread&) = delete;
  TransferThread& operator=(const TransferThread&) = delete;

  /// To be connected to.
  HostPort address() const;
  std::uint16_t port() const { return address().port; }
  void fetch(const HostPort& from, const DataKey& key, std::uint64_t priority, DataClient::OnDone on_done,
             const JobIdentity& identity = {});
  void abandon(const HostPort& server);
  void cancel(const DataKey& key);
  /// Asks for the data that are mapped. Answered at once while there are none.
  void look_at_mapped(std::function<void(const MappedElsewhere&)> tell);

 private:
  struct State;
  explicit TransferThread(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
