#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "client/src/transport.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/loop/loop.hpp"
#include "common/net/uplink.hpp"
#include "common/wire/codec.hpp"

namespace penstock::client {
namespace {

/// Invariant: only the loop's thread touches `uplink_`, `known_`, `waiting_for_room_`, `timers_` and `ended_`; `first_`
/// is under the mutex.
class RemoteTransport final : public Transport {
 public:
  RemoteTransport(const RemoteOptions& options, TransportHandlers handlers)
      : options_(options), handlers_(std::move(handlers)) {
    thread_ = std::thread{[this] { loop_.run(); }};
    loop_.post([this] { start(options_.connect_timeout); });
  }

  ~RemoteTransport() override {
    loop_.post([this] {
      uplink_.reset();
      timers_.clear();
      give_room();
      loop_.stop();
    });
    thread_.join();
  }

  void send(FromClient message) override {
    loop_.post([this, payload = encode(std::span{&message, 1})] {
      if (uplink_ != nullptr) uplink_->send(payload);
    });
  }

  // Messages sent before are in the uplink when this runs.
  void wait_for_room() override {
    auto waiting = std::make_shared<std::promise<void>>();
    loop_.post([this, waiting] {
      waiting_for_room_.push_back(waiting);
      give_room();
    });
    waiting->get_future().wait();
  }

  void end_waits() override {
    loop_.post([this] {
      ended_ = true;
      give_room();
    });
  }

  bool after(Duration wait, std::function<void()> work) override {
    loop_.post([this, at = later(monotonic_now(), wait), work = std::move(work)] {
      if (uplink_ == nullptr) return;
      const std::uint64_t number = next_timer_++;
      timers_.try_emplace(number, loop_).first->second.arm(at, [this, number, work] {
        const auto timer = timers_.extract(number);  // Lives until the work is done.
        work();
      });
    });
    return true;
  }

  // The supervisor does nothing else while it takes a chunk in, and all clients wait: an eighth of a frame is some 0.1
  // ms.
  std::size_t chunk_bytes() const override { return options_.wire.frame_bytes_target / 8; }
  std::size_t message_bytes_max() const override { return options_.wire.frame_bytes_max; }
  bool may_renew() const override { return true; }

  /// Waits until the link stands or is given up.
  Result<void> wait_for_link() {
    std::unique_lock lock{mutex_};
    linked_or_ended_.wait(lock, [this] { return first_.has_value(); });
    return *first_;
  }

 private:
  void start(Duration give_up_after) {
    UplinkOptions uplink;
    uplink.supervisors = options_.supervisors;
    uplink.role = PeerRole::Client;
    uplink.name = options_.name;
    uplink.incarnation = random_incarnation();
    uplink.tls = options_.tls;
    uplink.link = options_.link;
    uplink.wire = options_.wire;
    uplink.connect_timeout = options_.connect_timeout;
    uplink.give_up_after = give_up_after;
    UplinkHandlers handlers;
    handlers.on_linked = [this] { linked(); };
    handlers.on_renewed = [this] { renewed(); };
    handlers.on_acknowledged = [this] { give_room(); };
    handlers.on_messages = [this](std::span<const std::byte> bytes) { receive(bytes); };
    handlers.on_end = [this](const Error& error) { end(error); };
    uplink_ = std::make_unique<Uplink>(loop_, uplink, std::move(handlers));
  }

  /// A large graph waits in its own memory, not a second time as frames (fault F20).
  void give_room() {
    if (!ended_ && uplink_ != nullptr && uplink_->unacknowledged_bytes() > options_.wire.send_buffer_bytes_max / 4)
      return;
    for (const auto& waiting : waiting_for_room_) waiting->set_value();
    waiting_for_room_.clear();
  }

  void receive(std::span<const std::byte> bytes) {
    const Result<std::vector<ToClient>> messages = decode_to_client(bytes);
    if (!messages) return end(messages.error());
    for (const ToClient& message : *messages) handlers_.on_message(message);
  }

  void linked() {
    if (decide_first(Result<void>{})) {
      known_ = uplink_->supervisor();
      return;
    }
    if (known_.goes_on_as(uplink_->supervisor())) return renewed();
    loop_.post([this] { uplink_.reset(); });
    tell_end({ErrorCode::Disconnected, "supervisor", "has started anew and does not know this client", {}});
  }

  void renewed() {
    const Incarnation before = std::exchange(known_, uplink_->supervisor()).incarnation;
    const SupervisorLife life = known_.incarnation == before ? SupervisorLife::Same : SupervisorLife::Next;
    if (handlers_.on_renewed) handlers_.on_renewed(life);
    give_room();
  }

  void end(const Error& error) {
    const bool was_linked = !decide_first(error);
    if (was_linked && error.code == ErrorCode::StaleIncarnation) {
      // This process was away for longer than the supervisor waits; under another name the supervisor accepts it again.
      loop_.post([this] {
        if (uplink_ != nullptr) start(options_.link.supervisor_absence_max);
      });
      return;
    }
    if (was_linked) tell_end(error);
  }

  void tell_end(const Error& error) {
    if (handlers_.on_end) handlers_.on_end(error);
    ended_ = true;
    give_room();
  }

  bool decide_first(Result<void> result) {
    const std::lock_guard lock{mutex_};
    if (first_.has_value()) return false;
    first_ = std::move(result);
    linked_or_ended_.notify_all();
    return true;
  }

  const RemoteOptions options_;
  const TransportHandlers handlers_;
  Loop loop_;
  std::unique_ptr<Uplink> uplink_;
  SupervisorTerm known_;
  std::vector<std::shared_ptr<std::promise<void>>> waiting_for_room_;
  std::map<std::uint64_t, LoopTimer> timers_;
  std::uint64_t next_timer_ = 1;
  bool ended_ = false;
  std::mutex mutex_;                         // Invariant above; tests/integration/cluster under the thread sanitizer.
  std::condition_variable linked_or_ended_;  // Notified when `first_` is decided.
  std::optional<Result<void>> first_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Transport>> connect_remote(const RemoteOptions& options, TransportHandlers handlers) {
  auto transport = std::make_unique<RemoteTransport>(options, std::move(handlers));
  if (Result<void> linked = transport->wait_for_link(); !linked) return linked.error();
  return std::unique_ptr<Transport>{std::move(transport)};
}

}  // namespace penstock::client
