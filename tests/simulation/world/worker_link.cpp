#include "tests/simulation/world/worker_link.hpp"

#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using std::chrono::microseconds;
using std::chrono::milliseconds;

WorkerLink::WorkerLink(WorkerHost& host) : host_(host), world_(host.world()) {}

void WorkerLink::reset() {
  supervisor_ = {};
  endpoint_.reset();
  renewed_ = {};
}

void WorkerLink::connect() {
  if (!host_.up()) return;
  const std::uint64_t connection = asked_on_ = world_.next_connection();
  // A hello that is lost on the way is tried again.
  host_.deliver([this, connection] {
    if (!asks_on(connection)) return;
    Hello hello;
    hello.role = PeerRole::Worker;
    hello.incarnation = Incarnation{host_.life()};
    hello.peer = supervisor_.incarnation;
    hello.received_through = endpoint_ == nullptr ? 0 : endpoint_->link().received_through();
    if (can_connect()) {
      world_.timeline().after(world_.latency(), [this, connection, hello] {
        if (host_.up() && hello.incarnation.value() == host_.life() && asks_on(connection) && can_connect())
          world_.supervisor().links().accept_worker(host_, connection, hello);
      });
    }
    world_.timeline().after(milliseconds{200}, [this, connection, life = host_.life()] {
      const bool linked = endpoint_ != nullptr && endpoint_->link().attached();
      if (host_.up() && life == host_.life() && asks_on(connection) && !linked) connect();
    });
  });
}

void WorkerLink::welcomed(std::uint64_t connection, const Welcome& welcome) {
  if (!asks_on(connection)) return;
  // The supervisor has died since; the worker tries again.
  if (welcome.incarnation != world_.supervisor().incarnation()) return;
  const WelcomeMeaning meaning = meaning_of(welcome, supervisor_, endpoint_ != nullptr, true);
  if (meaning == WelcomeMeaning::Over) return host_.refused();
  if (meaning != WelcomeMeaning::Resumed) {
    supervisor_ = SupervisorTerm::of(welcome);
    make_endpoint();
  }
  endpoint_->attach(connection, welcome.resumed, welcome.received_through, world_.now());
  plan_tick();
  if (meaning == WelcomeMeaning::First) return introduce();
  if (meaning == WelcomeMeaning::Resumed) return;
  renewed_.renew();
  // The worker hears of it as of other news, and may say something before.
  host_.after(microseconds{world_.rng().between(0, 300)}, [this] { supervisor_returned(); });
}

void WorkerLink::introduce() {
  std::vector<FromWorker> first;
  first.emplace_back(host_.description());
  send(std::move(first));
}

void WorkerLink::supervisor_returned() {
  host_.witness().supervisor_returned();
  host_.handle(worker_event::SupervisorReturned{});
}

void WorkerLink::make_endpoint() {
  LinkConfig config = world_.config().link;
  config.reconnect_grace = config.supervisor_absence_max;
  endpoint_ = std::make_unique<Endpoint>(config, Incarnation{host_.life()}, supervisor_.incarnation, world_.now(),
                                         OnSilence::Reconnect);
  endpoint_->resends = world_.options().defect != Defect::NoResend;
  endpoint_->transmit = [this](const Frame& frame) {
    world_.carry(wire_, cut_off_ || one_way_ == OneWay::Mute, [this, frame, life = host_.life()] {
      if (life == host_.life()) world_.supervisor().links().arrive(life, frame);
    });
  };
  endpoint_->deliver = [this](const MessagePtr& message) { receive(message); };
  endpoint_->heard = [this](Instant sent) { host_.handle(worker_event::SupervisorHeard{sent}); };
  endpoint_->silent = [this] {
    world_.timeline().after(Duration{0}, [this, life = host_.life(), connection = endpoint_->connection()] {
      if (life == host_.life()) connection_broke(connection);
    });
  };
  endpoint_->lost = [this](const char*) {
    world_.note("life % has lost its link", {host_.life()});
    // The supervisor was away for too long; it begins another life.
    world_.timeline().after(Duration{0}, [this, life = host_.life()] {
      if (life == host_.life() && host_.up()) host_.refused();
    });
  };
}

void WorkerLink::receive(const MessagePtr& message) {
  const auto* order = std::get_if<ToWorker>(message.get());
  if (order == nullptr) return world_.oracle().breach("a worker received what is not for workers");
  host_.receive(*order);
}

void WorkerLink::send(std::vector<FromWorker>&& messages) {
  if (endpoint_ == nullptr || !renewed_.takes(messages)) return;
  for (FromWorker& message : messages)
    endpoint_->send(std::make_shared<const Message>(std::move(message)), world_.now());
  plan_tick();
}

void WorkerLink::connection_broke(std::uint64_t connection) {
  if (!host_.up() || endpoint_ == nullptr || endpoint_->connection() != connection) return;
  endpoint_->detach(world_.now());
  plan_tick();
  world_.timeline().after(milliseconds{world_.rng().between(1, 50)}, [this, life = host_.life()] {
    if (host_.up() && life == host_.life() && !endpoint_->link().attached()) connect();
  });
}

void WorkerLink::arrive(const Frame& frame) {
  if (endpoint_ == nullptr) return;
  endpoint_->arrive(frame, world_.now());
  plan_tick();
}

void WorkerLink::plan_tick() {
  if (endpoint_ == nullptr) return;
  const Instant at = endpoint_->plan();
  if (at == kNever) return;
  world_.timeline().at(at, [this, life = host_.life(), at] {
    if (life != host_.life() || !host_.up()) return;
    host_.deliver([this, at] {
      if (endpoint_ != nullptr && endpoint_->due(at, world_.now())) plan_tick();
    });
  });
}

}  // namespace penstock::simulation
