#include "tests/simulation/world/worker_host.hpp"

#include <algorithm>

#include "tests/simulation/world/graphs.hpp"

namespace penstock::simulation {

using namespace worker;
using std::chrono::milliseconds;

WorkerHost::WorkerHost(World& world, std::string name)
    : world_(world),
      name_(std::move(name)),
      knows_barriers_(!Rng{mix_bits(world_.options().seed) ^ 0xba44 ^ world_.workers().size()}.chance(1, 10)),
      link_(*this),
      programs_(*this) {
  Rng& rng = world_.rng();
  const auto count = static_cast<std::uint32_t>(1 + rng.below(2));
  for (std::uint32_t i = 0; i < count; ++i) {
    BandDescription band;
    band.name = "numa-" + std::to_string(i);
    band.capacity.slots = kOneSlot * rng.between(1, 4);
    band.capacity.memory = kMiB * rng.between(60, rng.chance(1, 3) ? 140 : 400);
    band.memory_hard_limit = band.capacity.memory * 2;
    bands_.push_back(band);
  }
  if (const std::uint32_t devices = world_.config().devices; devices > 0) {
    BandDescription& band = bands_.emplace_back();
    band.name = "gpus";
    band.kind = BandKind::Gpu;
    band.capacity.slots = kOneSlot * devices;
    band.capacity.gpu = MilliGpu{1000} * devices;
    band.capacity.device_memory = kDeviceMemory * devices;
    for (std::uint32_t i = 0; i < devices; ++i)
      band.devices.push_back({"GPU-" + std::to_string(i), "", "", kDeviceMemory, i / 2, 0});
    band.capacity.memory = kMiB * 400;
    band.memory_hard_limit = band.capacity.memory * 2;
  }
  Rng amounts{mix_bits(world_.options().seed) ^ mix_bits(world_.workers().size() + 0xc9d)};
  for (BandDescription& band : bands_) {
    const std::int64_t slots = band.capacity.slots.value();
    band.capacity.cpu = MilliCpu{std::max(slots, kLeastCpu.value()) + slots * amounts.between(0, 2)};
    band.capacity.named = {{kLicence, amounts.between(kLeastLicences, 2 * kLeastLicences)}};
  }
  begin_life();
}

void WorkerHost::begin_life() {
  life_ = world_.next_life();
  if (shell_.has_value()) forward_hits_ += core().counters().forward_hits;
  link_.reset();
  data_.emplace(*this);
  witness_.emplace(*this);
  surroundings_.emplace(*this, description());
  shell_.emplace(world_.config().worker, bands_, *surroundings_);
  world_.note("life % begins", {life_});
}

void WorkerHost::end_life() {
  programs_.end_all();
  world_.oracle().life_ended(life_);
}

void WorkerHost::deliver(std::function<void()> what) {
  const std::uint64_t life = life_;
  world_.timeline().at(std::max(world_.now(), hung_until_), [this, life, what = std::move(what)] {
    if (life != life_ || !up_) return;
    if (hung()) return deliver(what);
    what();
  });
}

void WorkerHost::after(Duration delay, std::function<void()> what) {
  world_.timeline().after(delay, [this, life = life_, what = std::move(what)] {
    if (life == life_ && up_) deliver(what);
  });
}

Register WorkerHost::description() const {
  Register description;
  description.name = name_;
  description.host = "host-" + name_;
  description.data_address = description.host + ":1";
  description.bands = bands_;
  description.shared_storage = true;
  const Bytes store_max = world_.config().worker.store_bytes_max;
  description.store_bytes_max = store_max.is_zero() ? kGiB : store_max;
  description.labels = {"any"};
  if (name_ == "worker-1")
    description.labels.push_back("first");
  else
    description.users = {"", "ann"};  // Not those of "guest".
  description.log_questions = true;
  description.barriers = knows_barriers_;
  description.keeps_to_devices = true;
  description.crash = crash_;
  return description;
}

// The supervisor has reassigned what this life had: it ends what runs and begins another life.
void WorkerHost::refused() {
  world_.note("life % is fenced", {life_});
  end_life();
  crash_.reset();
  begin_life();
  link_.connect();
}

void WorkerHost::crash() {
  world_.note("life % crashes", {life_});
  crash_.reset();
  go_down();
}

void WorkerHost::crash_of(const ProgramRun& culprit) {
  world_.note("subtask %:% brings life % down", {culprit.id.job.value(), culprit.id.index.value(), life_});
  crash_ = OperatorCrash{Incarnation{life_}, culprit.id, culprit.attempt, 11, "an operator crashed"};
  go_down();
  world_.timeline().after(milliseconds{world_.rng().between(1, world_.rng().chance(3, 4) ? 100 : 2000)}, [this] {
    if (!up_) come_back();
  });
}

void WorkerHost::go_down() {
  up_ = false;
  end_life();
  if (link_.endpoint() != nullptr && world_.rng().chance(2, 3)) {
    // The kernel closes its sockets; otherwise the host is gone without a word.
    world_.timeline().after(world_.latency(), [this, life = life_, connection = link_.endpoint()->connection()] {
      world_.supervisor().links().connection_broke(life, connection);
    });
  }
}

void WorkerHost::come_back() {
  up_ = true;
  hung_until_ = Instant{};
  begin_life();
  link_.connect();
}

void WorkerHost::hang(Duration duration) {
  world_.note("life % hangs for % us", {life_, static_cast<std::uint64_t>(duration.count() / 1000)});
  hung_until_ = std::max(hung_until_, later(world_.now(), duration));
  if (duration > world_.config().supervisor.overlap_margin / 2) world_.oracle().stood_still(life_);
}

std::uint32_t WorkerHost::largest_band() const {
  std::int64_t most = 1;
  for (const BandDescription& band : bands_)
    if (band.kind == BandKind::Cpu) most = std::max(most, band.capacity.slots.value() / 1000);
  return static_cast<std::uint32_t>(most);
}

void WorkerHost::receive(const ToWorker& order) {
  witness_->note_order(order);
  begin_round();
  if (const auto* entitlements = std::get_if<EntitlementBatch>(&order)) {
    EntitlementBatch batch = *entitlements;
    if (!knows_barriers_)
      for (Entitlement& each : batch.entitlements) each.barrier = 0;
    witness_->note_entitlements(batch);
    note(worker_event::MessageArrived{order});
    shell_->receive(std::move(batch));
  } else {
    if (const auto* peers = std::get_if<PeerAddressBatch>(&order)) data_->note_peers(*peers);
    note(worker_event::MessageArrived{order});
    shell_->receive(order);
  }
  end_round();
  witness_->check_followed(order);
}

void WorkerHost::handle(const WorkerEvent& event) {
  begin_round();
  note(event);
  shell_->handle(event);
  end_round();
}

void WorkerHost::tick() {
  begin_round();
  note(worker_event::Tick{});
  shell_->tick();
  end_round();
}

void WorkerHost::tell_ends() {
  if (!programs_.has_news()) return;
  begin_round();
  end_round();
}

void WorkerHost::begin_round() {
  const bool news = programs_.has_news();
  std::vector<ProgramEnd> ends = programs_.withdraw();
  if (news) note(worker_event::RunsEnded{});
  shell_->begin_round(own_time(), ends);
  if (news) look();
}

// Not every round opens offers: in a real worker a lane may have nothing to take over in time.
void WorkerHost::end_round() {
  if (world_.rng().chance(2, 3)) {
    note(worker_event::OffersWanted{});
    shell_->offer();
  }
  look();
  shell_->end_round();
  shell_->arm();
}

void WorkerHost::look() {
  if (world_.options().validate) core().validate();
  shell_->carry_out_all();
  witness_->look();
}

void WorkerHost::note(const WorkerEvent& event) const {
  constexpr const char* kEvents[] = {"life %: message arrived",
                                     "life %: runs ended",
                                     "life %: transfers ended",
                                     "life %: outputs stored",
                                     "life %: datum spilled",
                                     "life %: datum restored",
                                     "life %: slot yielded",
                                     "life %: slot wanted",
                                     "life %: lanes restarted",
                                     "life %: memory measured",
                                     "life %: the supervisor is back",
                                     "life %: tick",
                                     "life %: offers wanted",
                                     "life %: datum checkpointed",
                                     "life %: runs measured",
                                     "life %: data are mapped",
                                     "life %: the supervisor has heard it"};
  static_assert(std::size(kEvents) == std::variant_size_v<WorkerEvent>);
  world_.note(kEvents[event.index()], {life_});
}

}  // namespace penstock::simulation
