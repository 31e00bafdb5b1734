#include "worker/actors/store_server.hpp"

#include "worker/transfer/transfer_thread.hpp"

namespace penstock::worker {

struct StoreServer::State {
  std::unique_ptr<TransferThread> transfers;
};

StoreServer::StoreServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreServer::~StoreServer() = default;

Result<std::unique_ptr<StoreServer>> StoreServer::open(Loop& loop, ObjectStore& store, const WorkerOptions& options) {
  TransferOptions transfer;
  transfer.locally = true;
  const std::int64_t hundredth = store_bytes_max(options).value() / 100;
  transfer.server.handles.bytes_max = static_cast<std::uint64_t>(hundredth) * options.core.mapped_percent;
  transfer.server.handles.handles_max = options.core.mapped_max;
  Result<std::unique_ptr<TransferThread>> transfers = TransferThread::open(loop, store, transfer);
  if (!transfers) return std::move(transfers).error();
  auto state = std::make_unique<State>(State{std::move(transfers).value()});
  return std::unique_ptr<StoreServer>{new StoreServer{std::move(state)}};
}

std::string StoreServer::address() const { return to_string(state_->transfers->address()); }

}  // namespace penstock::worker
