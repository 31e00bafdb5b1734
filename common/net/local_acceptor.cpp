#include "common/net/local_acceptor.hpp"

#include <utility>

#include "common/host/clock.hpp"
#include "common/loop/descriptor_watch.hpp"
#include "common/net/local_socket.hpp"

namespace penstock {
namespace {

constexpr Duration kRetryAfter = std::chrono::milliseconds{50};

}  // namespace

struct LocalAcceptor::State : std::enable_shared_from_this<State> {
  State(Loop& loop, LocalListener listens, OnSocket handler)
      : listener(std::move(listens)), watch(loop, listener.socket), retry(loop), on_socket(std::move(handler)) {}

  void accept() {
    const auto self = shared_from_this();  // A handler may destroy the acceptor.
    while (on_socket) {
      Result<Descriptor> socket = accept_local(listener.socket, present_user());
      if (!socket && socket.error().code == ErrorCode::WrongState) return accept_when_readable();
      // The process has no free descriptor; it may have one soon.
      if (!socket) return retry.arm(monotonic_now() + kRetryAfter, [this] { accept(); });
      on_socket(std::move(socket).value());
    }
  }
  void accept_when_readable() {
    watch.when_readable([this] { accept(); });
  }

  const LocalListener listener;
  DescriptorWatch watch;
  LoopTimer retry;
  OnSocket on_socket;
};

LocalAcceptor::LocalAcceptor(std::shared_ptr<State> state) : state_(std::move(state)) {}
LocalAcceptor::~LocalAcceptor() { state_->on_socket = nullptr; }

Result<std::unique_ptr<LocalAcceptor>> LocalAcceptor::open(Loop& loop, OnSocket on_socket) {
  Result<LocalListener> listener = listen_locally();
  if (!listener) return std::move(listener).error();
  auto state = std::make_shared<State>(loop, std::move(listener).value(), std::move(on_socket));
  state->accept_when_readable();
  return std::unique_ptr<LocalAcceptor>{new LocalAcceptor{std::move(state)}};
}

std::uint64_t LocalAcceptor::name() const { return state_->listener.name; }

}  // namespace penstock
