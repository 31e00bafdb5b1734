#include "common/loop/actor_host.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <caf/actor.hpp>
#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/detail/simple_actor_clock.hpp>
#include <caf/error.hpp>
#include <caf/execution_unit.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>
#include <deque>
#include <exception>
#include <string>

#include "common/base/check.hpp"

namespace penstock {
namespace {

/// CAF requires a clock for its timeouts; this process uses `LoopTimer`s.
class NoClock final : public caf::actor_clock {
 public:
  void set_ordinary_timeout(time_point, caf::abstract_actor*, caf::atom_value, std::uint64_t) override {}
  void set_multi_timeout(time_point, caf::abstract_actor*, caf::atom_value, std::uint64_t) override {}
  void set_request_timeout(time_point, caf::abstract_actor*, caf::message_id) override {}
  void cancel_ordinary_timeout(caf::abstract_actor*, caf::atom_value) override {}
  void cancel_request_timeout(caf::abstract_actor*, caf::message_id) override {}
  void cancel_timeouts(caf::abstract_actor*) override {}
  void schedule_message(time_point, caf::strong_actor_ptr, caf::mailbox_element_ptr) override {}
  void schedule_message(time_point, caf::group, caf::strong_actor_ptr, caf::message) override {}
  void cancel_all() override {}
};

/// A CAF scheduler with a `Loop` as its one worker. (tidy: foreign-file scheduler)
class LoopScheduler final : public caf::scheduler::abstract_coordinator {
 public:
  LoopScheduler(caf::actor_system& system, Loop& loop)
      : abstract_coordinator(system), loop_(loop), unit_(system, *this) {}

  void start() override {
    // Replaces the base's, which would spawn a printer actor on a thread of its own.
    loop_.set_worker([this] { return run_one(); });
  }
  void stop() override {
    while (run_one()) {
    }
    loop_.set_worker(nullptr);
  }
  void enqueue(caf::resumable* job) override {
    if (loop_.in_loop_thread())
      ready_.push_back(job);
    else
      boost::asio::post(loop_.io(), [this, job] { ready_.push_back(job); });
  }
  bool detaches_utility_actors() const override { return false; }
  caf::actor_clock& clock() noexcept override { return clock_; }

  bool run_one() {
    if (ready_.empty()) return false;
    caf::resumable* job = ready_.front();
    ready_.pop_front();
    switch (job->resume(&unit_, kMessagesInARow)) {
      case caf::resumable::resume_later: ready_.push_back(job); break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message: caf::intrusive_ptr_release(job); break;
      case caf::resumable::shutdown_execution_unit: break;
    }
    return true;
  }

 private:
  class Unit final : public caf::execution_unit {
   public:
    Unit(caf::actor_system& system, LoopScheduler& scheduler) : execution_unit(&system), scheduler_(scheduler) {}
    void exec_later(caf::resumable* job) override { scheduler_.ready_.push_back(job); }

   private:
    LoopScheduler& scheduler_;
  };
  /// After so many messages sockets and timers have their turn.
  static constexpr std::size_t kMessagesInARow = 50;

  Loop& loop_;
  Unit unit_;
  NoClock clock_;
  std::deque<caf::resumable*> ready_;
};

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& failure) {
    return failure.what();
  } catch (...) {
    return "no standard exception";
  }
}

}  // namespace

struct ActorHost::State {
  explicit State(Loop& event_loop) : loop(event_loop), config(configure(event_loop)), system(*config) {}

  // CAF waits for the last actor before it stops its scheduler; on this thread that would be for ever. The last actor
  // may end on another thread, which does not wake this one.
  ~State() {
    while (system.registry().running() > 0)
      if (!loop.turn()) loop.io().run_one_for(kLookEvery);
  }
  static constexpr std::chrono::milliseconds kLookEvery{1};

  static std::unique_ptr<caf::actor_system_config> configure(Loop& loop) {
    auto config = std::make_unique<caf::actor_system_config>();
    config->module_factories.push_back(
        [&loop](caf::actor_system& system) -> caf::actor_system::module* { return new LoopScheduler(system, loop); });
    return config;
  }

  Loop& loop;
  std::unique_ptr<caf::actor_system_config> config;
  caf::actor_system system;
};

ActorHost::ActorHost(Loop& loop) : state_(std::make_unique<State>(loop)) {}
ActorHost::~ActorHost() = default;
caf::actor_system& ActorHost::system() { return state_->system; }

void send_exit(const caf::actor_addr& actor) { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); }

void take_failures(caf::scheduled_actor& actor, ActorFailure meaning) {
  actor.set_exception_handler([meaning](caf::scheduled_actor* failed, std::exception_ptr& thrown) {
    const std::string what = text_of(thrown);
    PENSTOCK_CHECK_MSG(meaning == ActorFailure::EndsActor, std::string{failed->name()} + ": " + what);
    return caf::make_error(caf::sec::runtime_error, what);
  });
}

void uncount_unstarted(caf::actor_system& system) {
  system.registry().dec_running();
  system.dec_detached_threads();
}

}  // namespace penstock
