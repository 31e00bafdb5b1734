#include "worker/transfer/transfer_thread.hpp"

#include <map>
#include <thread>

namespace penstock::worker {

/// Invariant: only the thread of `loop` touches `server` and `client`, except that they are made before it starts and
/// destroyed after it has stopped. `wanted` belongs to the owner's thread. Thread-sanitized by
/// tests/integration/cluster.
struct TransferThread::State {
  State(Loop& owners_loop, ObjectStore& object_store, const TransferLimits& limits)
      : owner(owners_loop), store(object_store), client(std::make_unique<DataClient>(loop, object_store, limits)) {}

  Loop& owner;
  ObjectStore& store;
  Loop loop;
  std::unique_ptr<DataServer> server;
  std::unique_ptr<DataClient> client;
  HostPort address;
  std::thread thread;

  // Of the owner's thread. Each transfer has a number, because the answer to a cancelled one may still arrive.
  std::map<DataKey, std::uint64_t> wanted;
  std::uint64_t next_number = 1;
};

TransferThread::TransferThread(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<TransferThread>> TransferThread::open(Loop& loop, ObjectStore& store,
                                                             const TransferOptions& options) {
  auto state = std::make_shared<State>(loop, store, options.limits);
  Result<std::unique_ptr<DataServer>> server =
      options.locally ? DataServer::open_locally(state->loop, store, options.server)
                      : DataServer::open(state->loop, options.listen, store, options.server);
  if (!server) return std::move(server).error();
  state->server = std::move(server).value();
  state->address = state->server->address();
  state->thread = std::thread{[raw = state.get()] { raw->loop.run(); }};
  return std::unique_ptr<TransferThread>{new TransferThread{std::move(state)}};
}

TransferThread::~TransferThread() {
  state_->loop.stop();
  state_->thread.join();
  state_->store.quiesce();  // The store's thread may be reading something for a visitor.
  state_->server.reset();
  state_->client.reset();
  // Posted requests that have not begun find neither server nor client.
  while (state_->loop.turn()) {
  }
}

HostPort TransferThread::address() const { return state_->address; }

void TransferThread::fetch(const HostPort& from, const DataKey& key, std::uint64_t priority, DataClient::OnDone on_done,
                           const JobIdentity& identity) {
  const std::uint64_t number = state_->next_number++;
  state_->wanted[key] = number;
  auto answer = [weak = std::weak_ptr{state_}, key, number, on_done = std::move(on_done)](std::shared_ptr<Blob> blob,
                                                                                          const Error& error) {
    const auto state = weak.lock();
    if (state == nullptr) return;
    state->owner.post([weak, key, number, on_done, blob = std::move(blob), error] {
      const auto alive = weak.lock();
      if (alive == nullptr) return;
      const auto found = alive->wanted.find(key);
      if (found == alive->wanted.end() || found->second != number) return;
      alive->wanted.erase(found);
      on_done(blob, error);
    });
  };
  state_->loop.post([state = state_.get(), from, key, priority, identity, answer = std::move(answer)] {
    if (state->client != nullptr) state->client->fetch(from, key, priority, answer, identity);
  });
}

void TransferThread::abandon(const HostPort& server) {
  state_->loop.post([state = state_.get(), server] {
    if (state->client != nullptr) state->client->abandon(server);
  });
}

void TransferThread::look_at_mapped(std::function<void(const MappedElsewhere&)> tell) {
  const HandleDesk* const desk = state_->server->desk();
  if (desk == nullptr || desk->count() == 0) return tell({});
  state_->loop.post([state = state_.get(), weak = std::weak_ptr{state_}, tell = std::move(tell)] {
    if (state->server == nullptr) return;
    MappedElsewhere found;
    for (const auto& [key, blob] : state->server->desk()->mapped())
      if (state->store.find_here(key) == blob)
        found.here.push_back(key);
      else
        found.beyond += Bytes{static_cast<std::int64_t>(blob->bytes().size())};
    state->owner.post([weak, tell, found = std::move(found)] {
      if (weak.lock() != nullptr) tell(found);
    });
  });
}

void TransferThread::cancel(const DataKey& key) {
  if (state_->wanted.erase(key) == 0) return;
  state_->loop.post([state = state_.get(), key] {
    if (state->client != nullptr) state->client->cancel(key);
  });
}

}  // namespace penstock::worker
