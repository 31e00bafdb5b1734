// The actor that puts one submitted graph together and checks it.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>
#include <caf/typed_actor.hpp>
#include <memory>

#include "common/protocol/client.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/events.hpp"

namespace penstock::supervisor {

struct ChunkMail {
  std::shared_ptr<SubmitChunk> chunk;
};
/// The whole graph, or why not; sent once to the supervisor's actor, then the job actor ends.
struct GraphCheckedMail {
  Incarnation client;
  std::shared_ptr<supervisor_event::GraphChecked> checked;
};

}  // namespace penstock::supervisor

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::ChunkMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::GraphCheckedMail)

namespace penstock::supervisor {

/// The supervisor, for the check of a graph.
using GraphOwner = caf::typed_actor<caf::reacts_to<GraphCheckedMail>>;
using JobHandle = caf::typed_actor<caf::reacts_to<ChunkMail>>;

/// `Own`: more chunks follow, so the work gets a thread of its own, if the host has one, and delays no other actor.
enum class Thread { Shared, Own };
/// `supervisor` monitors the actor: an end with a reason of its own means that the graph was not checked.
JobHandle spawn_job_intake(caf::scheduled_actor& supervisor, const GraphLimits& limits, Incarnation client,
                           Thread thread);

}  // namespace penstock::supervisor
