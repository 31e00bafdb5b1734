#include "worker/actors/worker_host.hpp"

#include <optional>
#include <utility>

#include "common/base/cpu_relax.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "worker/actors/flat_combiner.hpp"
#include "worker/actors/process_world.hpp"

namespace penstock::worker {
namespace {

/// Combine rounds after which the combining thread goes back to its own work: a lane to its subtask, the loop to its
/// sockets. The loop continues in its next turn.
constexpr int kRoundsOfALane = 64;
constexpr int kRoundsOfTheLoop = 8;
/// News that the loop has left to a lane wait at most so long, and then the loop combines. Lanes on short runs come in
/// every 50 us.
constexpr Duration kLeftFor = std::chrono::microseconds{100};

using Shell = ProcessWorld::Shell;
using News = std::function<void(Shell&)>;

}  // namespace

struct WorkerHost::State : std::enable_shared_from_this<State> {
  explicit State(ObjectStore& object_store) : store(object_store) {}

  void open(const WorkerConfig& config, const std::vector<BandDescription>& bands,
            const std::vector<std::vector<int>>& processors, const OperatorRegistry& operators, WorkerPorts ports);
  // News of the loop's thread.
  void submit(News one);
  void look_after_left_news();
  void lane_is_idle();
  void slot_wished(std::uint64_t ticket, Attempt attempt, SlotWish wish);
  void combine(int rounds);

  ObjectStore& store;
  std::function<void(std::function<void()>)> post;
  FlatCombiner<News> combiner;
  // Used by the combining thread only, from `world` on.
  std::vector<NativeEnd> ends;
  std::vector<News> news;
  std::optional<ProcessWorld> world;
  std::optional<Shell> shell;
  /// A lane that waits for the loop's processor does not come in.
  const bool is_alone = usable_processors() < 2;
  // Of the loop's thread.
  bool looking = false;
  Instant left_at{};
};

void WorkerHost::State::open(const WorkerConfig& config, const std::vector<BandDescription>& bands,
                             const std::vector<std::vector<int>>& processors, const OperatorRegistry& operators,
                             WorkerPorts ports) {
  post = ports.post;
  ProcessWorld::Calls calls;
  calls.on_idle = [this] { lane_is_idle(); };
  calls.on_slot_wish = [this](std::uint64_t ticket, Attempt attempt, SlotWish wish) {
    slot_wished(ticket, attempt, wish);
  };
  calls.tell_later = [weak = weak_from_this(), to = post](News one) {
    to([weak, one = std::move(one)]() mutable {
      if (const auto alive = weak.lock()) alive->submit(std::move(one));
    });
  };
  world.emplace(config, bands, processors, operators, store, std::move(ports), std::move(calls));
  shell.emplace(config, bands, *world);
}

WorkerHost::WorkerHost(const WorkerConfig& config, std::vector<BandDescription> bands,
                       std::vector<std::vector<int>> processors, const OperatorRegistry& operators, ObjectStore& store,
                       WorkerPorts ports)
    : state_(std::make_shared<State>(store)) {
  state_->open(config, bands, processors, operators, std::move(ports));
}

WorkerHost::~WorkerHost() { state_->world->end(); }

void WorkerHost::warm(const Template& runner, std::uint32_t count) { state_->world->warm(runner, count); }

void WorkerHost::receive(std::shared_ptr<const std::vector<ToWorker>> batch) {
  state_->submit([batch = std::move(batch)](Shell& shell) {
    for (const ToWorker& message : *batch) shell.receive(message);
  });
}

void WorkerHost::run_ended(CommandEnd end) {
  state_->submit([held = std::make_shared<CommandEnd>(std::move(end))](Shell& shell) { shell.run_ended(*held); });
}

// The store gets the datum when the core handles the event and not before: until then the core may drop the key, and
// that means an earlier copy.
void WorkerHost::fetched(const FetchEnd& end, std::shared_ptr<Blob> blob) {
  state_->submit([end, blob = std::move(blob), &store = state_->store](Shell& shell) {
    shell.carry_out_all();
    if (blob != nullptr) store.put(end.key, blob);
    shell.handle(worker_event::FetchesEnded{std::span{&end, 1}});
  });
}

void WorkerHost::memory_measured(BandIndex band, Bytes used) {
  state_->submit([band, used](Shell& shell) { shell.handle(worker_event::MemoryMeasured{band, used}); });
}

void WorkerHost::data_mapped(std::vector<DataKey> here, Bytes beyond) {
  state_->submit([here = std::move(here), beyond](Shell& shell) {
    shell.handle(worker_event::DataMapped{here, beyond});
  });
}

void WorkerHost::measure_runners() {
  ProcessWorld::Measured measured = state_->world->measure();
  if (measured.runs.empty() && measured.bands.empty()) return;
  state_->submit([measured = std::move(measured)](Shell& shell) {
    shell.handle(worker_event::RunsMeasured{measured.runs});
    for (const worker_event::MemoryMeasured& band : measured.bands) shell.handle(band);
  });
}

void WorkerHost::tick() {
  state_->submit([](Shell& shell) { shell.tick(); });
}

void WorkerHost::supervisor_returned() {
  state_->submit([](Shell& shell) { shell.handle(worker_event::SupervisorReturned{}); });
}

void WorkerHost::supervisor_heard(Instant sent) {
  state_->submit([sent](Shell& shell) { shell.handle(worker_event::SupervisorHeard{sent}); });
}

// A lane on short runs carries news in by itself, so that the state of the core stays with one processor. See
// docs/decisions/0027.
void WorkerHost::State::submit(News one) {
  using Submitted = FlatCombiner<News>::Submitted;
  switch (combiner.submit_or_leave(std::move(one), [this] { return !is_alone && world->expects_a_lane(); })) {
    case Submitted::Combine: return combine(kRoundsOfTheLoop);
    case Submitted::Taken: return;
    case Submitted::Left: break;
  }
  if (std::exchange(looking, true)) return;
  left_at = monotonic_now();
  look_after_left_news();
}

// The lane may have taken over a longer run. The loop stays awake meanwhile, as the lane's reports come soon.
void WorkerHost::State::look_after_left_news() {
  if (combiner.has_left() && monotonic_now() - left_at < kLeftFor) {
    return post([weak = weak_from_this()] {
      if (const auto alive = weak.lock()) alive->look_after_left_news();
    });
  }
  looking = false;
  if (combiner.has_left() && combiner.call()) combine(kRoundsOfTheLoop);
}

// Each round closes the offers of all bands. Two lanes on short runs that came in one after the other would take each
// other's offers away, run by run: the one that is idle first waits for the other.
void WorkerHost::State::lane_is_idle() {
  using Submitted = FlatCombiner<News>::Submitted;
  switch (combiner.call_or_leave([this] { return !is_alone && world->expects_a_lane(); })) {
    case Submitted::Combine: return combine(kRoundsOfALane);
    case Submitted::Taken: return;
    case Submitted::Left: break;
  }
  const Instant left = monotonic_now();
  while (combiner.has_left()) {
    cpu_relax();
    if (monotonic_now() - left < kLeftFor) continue;
    if (combiner.call()) combine(kRoundsOfALane);
    return;
  }
}

void WorkerHost::State::slot_wished(std::uint64_t ticket, Attempt attempt, SlotWish wish) {
  const auto wished = [record = record_of(ticket), attempt, wish](Shell& to) {
    if (wish == SlotWish::Lend)
      to.handle(worker_event::SlotYielded{record, attempt});
    else
      to.handle(worker_event::SlotWanted{record, attempt});
  };
  if (combiner.submit(wished)) combine(kRoundsOfALane);
}

// REQUIRES: the combiner has told the caller to combine. From the withdrawal to the end of a round the lanes take no
// run over, and the core knows what they hold.
void WorkerHost::State::combine(int rounds) {
  for (;; --rounds) {
    switch (combiner.next(news, world->has_refused(), rounds, [this] { shell->arm(); })) {
      case FlatCombiner<News>::Next::Leave: return;
      case FlatCombiner<News>::Next::Pause:
        return post([weak = weak_from_this()] {
          if (const auto alive = weak.lock()) alive->combine(kRoundsOfTheLoop);
        });
      case FlatCombiner<News>::Next::Combine: break;
    }
    world->withdraw(ends);
    shell->begin_round(monotonic_now(), ends);
    for (const News& one : news) one(*shell);
    news.clear();
    shell->offer();
    shell->end_round();
    ends.clear();
  }
}

}  // namespace penstock::worker
