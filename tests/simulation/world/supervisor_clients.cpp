// SupervisorHost: its clients.
#include <algorithm>

#include "supervisor/core/graph_shape.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;

/// Each connection of a client is a client of its own to the core.
ClientId SupervisorHost::accept_client(ClientHost& host, std::uint64_t connection) {
  const ClientId id{next_client_++};
  ClientPeer& peer = clients_[id];
  peer.host = &host;
  peer.endpoint = std::make_unique<Endpoint>(world_.link_config(), incarnation(), host.incarnation(), world_.now());
  peer.endpoint->transmit = [this, id, &host](const Frame& frame) {
    world_.carry(clients_[id].wire, false, [&host, frame] { host.arrive(frame); });
  };
  peer.endpoint->deliver = [this, id](const MessagePtr& message) { receive_from_client(id, message); };
  peer.endpoint->lost = [this, id](const char*) {
    // A client gives up a supervisor that is stopped for too long, and comes back on a new connection.
    const Faults& faults = world_.options().faults;
    if (!faults.supervisor_stalls && !faults.client_deaths)
      world_.oracle().breach("the client was lost, though nothing happened to it");
    world_.queue().after(Duration{0}, [this, id] { drop_client(id); });
  };
  peer.endpoint->attach(connection, false, 0, world_.now());
  return id;
}

/// Its connection is closed, or silent for too long. Nothing if that is known.
void SupervisorHost::drop_client(ClientId id) {
  if (stopped()) return when_running([this, id] { drop_client(id); });
  if (clients_.erase(id) > 0) handle(supervisor_event::ClientGone{id});
}

void SupervisorHost::tell_client(ClientId id, ToClient&& message) {
  const auto found = clients_.find(id);
  if (const auto* reply = std::get_if<SubmitReply>(&message); reply != nullptr && reply->job.valid())
    if (found != clients_.end())
      world_.oracle().job_accepted(reply->job, found->second.host->graph_of(reply->submission), reply->identity);
  // A reply that waited for the disk may be for a connection that is gone.
  if (found == clients_.end()) return;
  found->second.endpoint->send(std::make_shared<const Message>(std::move(message)), world_.now());
  plan_client_tick(id);
}

void SupervisorHost::receive_from_client(ClientId id, const MessagePtr& message) {
  if (const auto* submit = std::get_if<SubmitGraph>(message.get())) {
    GraphIntake intake{GraphLimits{}};
    supervisor_event::GraphChecked checked{id, submit->submission, submit->spec, nullptr, {}, draw_identity()};
    if (Result<void> added = intake.add(*submit->graph); !added) {
      checked.refusal = added.error();
    } else if (Result<std::unique_ptr<GraphShape>> shape = intake.finish(); shape) {
      checked.shape = std::move(shape).value();
    } else {
      checked.refusal = shape.error();
    }
    handle(std::move(checked));
  } else if (const auto* said = std::get_if<FromClient>(message.get())) {
    handle(supervisor_event::ClientSaid{id, *said, draw_identity()});
  }
}

void SupervisorHost::client_arrive(ClientId id, const Frame& frame) {
  if (stopped()) return when_running([this, id, frame] { client_arrive(id, frame); });
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second.endpoint->arrive(frame, world_.now());
  plan_client_tick(id);
}

void SupervisorHost::plan_client_tick(ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  const Instant at = found->second.endpoint->plan();
  if (at == kNever) return;
  world_.queue().at(at, [this, id, at, life = life_] {
    if (life != life_) return;
    when_running([this, id, at] {
      const auto target = clients_.find(id);
      if (target != clients_.end() && target->second.endpoint->due(at, world_.now())) plan_client_tick(id);
    });
  });
}

/// After a client is gone nobody is told of a job for it.
void SupervisorHost::check_followers() const {
  for (const JobId id : world_.jobs())
    if (const Job* job = core_->find_job(id); job != nullptr)
      for (const ClientId follower : job->outbox.followers())
        if (!clients_.contains(follower))
          world_.oracle().breach(to_string(id) + " has a follower that is gone");
}

}  // namespace penstock::simulation
