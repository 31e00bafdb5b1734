#include "supervisor/actors/job_actor.hpp"

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include "common/host/host.hpp"
#include "supervisor/core/graph_shape.hpp"

namespace penstock::supervisor {
namespace {

class JobActor {
 public:
  explicit JobActor(caf::stateful_actor<JobActor>* self) : self_(self) {}

  static constexpr const char* name = "job";

  caf::behavior make_behavior(const GraphLimits& limits, Incarnation client, const caf::actor& supervisor,
                              Thread thread) {
    // Fault F20: a graph that takes a processor for seconds must not take it from other actors.
    if (thread == Thread::Own) step_back();
    intake_ = std::make_unique<GraphIntake>(limits);
    client_ = client;
    supervisor_ = supervisor;
    return {[this](const ChunkMail& mail) { take(*mail.chunk); }};
  }

 private:
  void take(SubmitChunk& chunk) {
    if (finished_) return;  // Chunks that were under way when an earlier one was refused.
    if (chunk.first) spec_ = std::move(chunk.spec);
    if (Result<void> added = intake_->add(std::move(chunk.graph)); !added)
      return finish(chunk.submission, nullptr, added.error());
    if (!chunk.last) return;
    Result<std::unique_ptr<GraphShape>> shape = intake_->finish();
    if (shape)
      finish(chunk.submission, std::move(shape).value(), {});
    else
      finish(chunk.submission, nullptr, shape.error());
  }

  void finish(std::uint64_t submission, std::unique_ptr<GraphShape> shape, Error refusal) {
    finished_ = true;
    intake_.reset();
    auto checked = std::make_shared<supervisor_event::GraphChecked>();
    checked->submission = submission;
    checked->spec = std::move(spec_);
    checked->shape = std::move(shape);
    checked->refusal = std::move(refusal);
    self_->send(supervisor_, GraphCheckedMail{client_, std::move(checked)});
  }

  caf::stateful_actor<JobActor>* self_;
  std::unique_ptr<GraphIntake> intake_;
  Incarnation client_;
  caf::actor supervisor_;
  JobSpec spec_;
  bool finished_ = false;
};

caf::behavior job_behavior(caf::stateful_actor<JobActor>* self, const GraphLimits& limits, Incarnation client,
                           const caf::actor& supervisor, Thread thread) {
  return self->state.make_behavior(limits, client, supervisor, thread);
}

}  // namespace

caf::actor spawn_job_intake(caf::actor_system& system, const GraphLimits& limits, Incarnation client,
                            const caf::actor& supervisor, Thread thread) {
  if (thread == Thread::Own) return system.spawn<caf::detached>(job_behavior, limits, client, supervisor, thread);
  return system.spawn(job_behavior, limits, client, supervisor, thread);
}

}  // namespace penstock::supervisor
