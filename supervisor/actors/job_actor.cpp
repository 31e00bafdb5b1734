#include "supervisor/actors/job_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <optional>
#include <system_error>

#include "common/host/host.hpp"
#include "common/loop/actor_host.hpp"
#include "supervisor/shell/graph_check.hpp"

namespace penstock::supervisor {
namespace {

class JobActor {
 public:
  explicit JobActor(JobHandle::stateful_pointer<JobActor> self) : self_(self) {}

  static constexpr const char* name = "job";

  JobHandle::behavior_type make_behavior(const GraphLimits& limits, Incarnation client, const GraphOwner& supervisor,
                                         Thread thread) {
    take_failures(*self_, ActorFailure::EndsActor);
    // Fault F20: a graph that takes a processor for seconds must not take it from other actors.
    if (thread == Thread::Own) step_back();
    check_.emplace(limits);
    client_ = client;
    supervisor_ = supervisor;
    return {[this](const ChunkMail& mail) { take(*mail.chunk); }};
  }

 private:
  void take(SubmitChunk& chunk) {
    if (std::shared_ptr<supervisor_event::GraphChecked> checked = check_->take(std::move(chunk)); checked != nullptr)
      self_->send(supervisor_, GraphCheckedMail{client_, std::move(checked)});
  }

  JobHandle::stateful_pointer<JobActor> self_;
  std::optional<GraphCheck> check_;
  Incarnation client_;
  GraphOwner supervisor_;
};

JobHandle::behavior_type job_behavior(JobHandle::stateful_pointer<JobActor> self, const GraphLimits& limits,
                                      Incarnation client, const GraphOwner& supervisor, Thread thread) {
  return self->state.make_behavior(limits, client, supervisor, thread);
}

}  // namespace

JobHandle spawn_job_intake(caf::scheduled_actor& supervisor, const GraphLimits& limits, Incarnation client,
                           Thread thread) {
  const auto handle = caf::actor_cast<GraphOwner>(supervisor.address());
  if (thread == Thread::Own) try {
      return supervisor.spawn<caf::detached + caf::monitored>(job_behavior, limits, client, handle, thread);
    } catch (const std::system_error&) {
      uncount_unstarted(supervisor.system());
    }
  return supervisor.spawn<caf::monitored>(job_behavior, limits, client, handle, Thread::Shared);
}

}  // namespace penstock::supervisor
