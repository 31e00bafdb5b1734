#include "tests/simulation/world/worker_store.hpp"

#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using namespace worker::worker_action;
using std::chrono::microseconds;

namespace {

/// The worker that serves data there, in whatever life; null: none.
WorkerHost* find_server(World& world, const std::string& data_address) {
  for (const auto& host : world.workers())
    if (host->description().data_address == data_address) return host.get();
  return nullptr;
}

}  // namespace

WorkerStore::WorkerStore(WorkerHost& host) : host_(host), world_(host.world()) {}

void WorkerStore::note(const char* what, const DataKey& key) const {
  world_.note(what, {host_.life(), key.producer.job.value(), key.producer.index.value(), key.output});
}

const Content* WorkerStore::find(const DataKey& key) const {
  const auto found = store_.find(key);
  return found == store_.end() ? nullptr : &found->second;
}

bool WorkerStore::is_pinned(const DataKey& key) const {
  const Datum* datum = host_.core().find_datum(key);
  return datum != nullptr && datum->pins > 0;
}

void WorkerStore::put(const DataKey& key, const Content& content) {
  store_[key] = content;
  note("life % has stored %:%.%", key);
  spilled_.erase(key);
  map_output(key);
}

void WorkerStore::store(const StoreOutputs& order, Made outputs) {
  host_.after(microseconds{world_.rng().between(10, 5000)}, [this, what = order, outputs = std::move(outputs)] {
    for (const auto& [key, content] : outputs) put(key, content);
    host_.handle(worker_event::OutputsStored{what.record, what.attempt, nullptr});
  });
}

// Transfers from a worker that is gone end at once, as they do in production.
void WorkerStore::note_peers(const PeerAddressBatch& batch) {
  for (const std::string& gone : peers_.note(batch))
    for (const auto& [key, address] : fetching_)
      if (address == gone)
        host_.after(Duration{0}, [this, key = key] {
          if (fetching_.erase(key) == 0) return;
          const FetchEnd end{key, false, {}, true};
          host_.handle(worker_event::FetchesEnded{std::span{&end, 1}});
        });
}

void WorkerStore::fetch(const FetchInput& order) {
  const std::string* known = peers_.find(order.from);
  const std::string address = known == nullptr ? std::string{} : *known;
  fetching_[order.key] = address;
  if (known == nullptr) return host_.after(Duration{0}, [this, what = order] { end_fetch(what, {}); });
  // Two draws, two statements: the order of operands is the compiler's choice.
  const Duration request = world_.latency();
  const Duration transfer = microseconds{world_.rng().between(1, 2000)};
  host_.after(request + transfer, [this, what = order, address] { end_fetch(what, address); });
}

void WorkerStore::end_fetch(const FetchInput& order, const std::string& address) {
  if (fetching_.erase(order.key) == 0) return;

  WorkerHost* const holder = find_server(world_, address);
  FetchEnd end;
  end.key = order.key;
  const bool reachable = holder != nullptr && holder->up() && !holder->link().cut_off() && !host_.link().cut_off();
  const bool unlucky = world_.options().faults.fetch_failures && world_.faults_on() && world_.rng().chance(1, 20);
  end.succeeded = reachable && holder->data().has(order.key) && !unlucky;
  end.gone = address.empty() || (reachable && !holder->data().has(order.key));
  // Keys of data are never of two jobs here.
  if (end.succeeded && !holder->data().is_named(order.key.producer.job, order.identity))
    world_.oracle().breach(to_string(order.key) + " is asked for without the identity that its holder knows");
  if (end.succeeded) {
    const Content& content = *holder->data().find(order.key);
    end.bytes = content.bytes;
    // Not before the worker has carried out what it was to do: that may be the end of an earlier copy.
    host_.tell_ends();
    store_[order.key] = content;
    note("life % has fetched %:%.%", order.key);
  }
  host_.handle(worker_event::FetchesEnded{std::span{&end, 1}});
}

void WorkerStore::name_job(const NameJob& order) {
  if (order.identity.valid())
    names_[order.job] = order.identity;
  else
    names_.erase(order.job);
}

bool WorkerStore::is_named(JobId job, const JobIdentity& identity) const {
  const auto found = names_.find(job);
  return identity.valid() && found != names_.end() && found->second == identity;
}

void WorkerStore::cancel_fetch(const DataKey& key) {
  if (world_.rng().chance(3, 4)) fetching_.erase(key);  // Else it had come already, and is told of late.
}

void WorkerStore::release(const DataKey& key) {
  if (is_pinned(key) && host_.core().find_datum(key)->place == DatumPlace::Here)
    world_.oracle().breach("a pinned datum was released");
  spilled_.insert(key);
}

void WorkerStore::adopt(const AdoptCheckpoint& order) {
  const auto& files = world_.checkpoints();
  const auto found = files.find({order.writer.value(), order.key});
  if (found != files.end()) store_[order.key] = found->second;
  adopted_[order.key] = order.writer.value();
  spilled_.insert(order.key);
  note("life % stands for %:%.%", order.key);
}

void WorkerStore::sweep(const SweepCheckpoints& order) {
  for (const Incarnation writer : order.writers)
    std::erase_if(world_.checkpoints(), [&](const auto& file) { return file.first.first == writer.value(); });
}

void WorkerStore::spill(const DataKey& key) {
  const auto mapped = mapped_.find(key);
  if (!store_.contains(key) || (mapped != mapped_.end() && mapped->second.told_here))
    world_.oracle().breach(to_string(key) + " is to be spilled and is not here, or mapped");
  host_.after(std::chrono::microseconds{world_.rng().between(10, 5000)}, [this, key] {
    const bool full = world_.options().faults.spills && world_.faults_on() && world_.rng().chance(1, 10);
    host_.handle(worker_event::DatumSpilled{key, store_.contains(key) && !full});
  });
}

void WorkerStore::restore(const DataKey& key) {
  host_.after(microseconds{world_.rng().between(10, 5000)}, [this, key] {
    const bool unlucky = world_.options().faults.fetch_failures && world_.faults_on() && world_.rng().chance(1, 20);
    // A datum that was made again meanwhile is in memory, and needs no disk.
    const bool here = store_.contains(key) && !spilled_.contains(key);
    const bool damaged = !here && (unlucky || !store_.contains(key));
    spilled_.erase(key);
    if (damaged) store_.erase(key);
    host_.handle(worker_event::DatumRestored{key, !damaged, {}});
  });
}

void WorkerStore::checkpoint(const DataKey& key) {
  const Content content = store_.at(key);
  host_.after(microseconds{world_.rng().between(10, 5000)}, [this, key, content] {
    const bool full = world_.faults_on() && world_.rng().chance(1, 10);
    if (!full) world_.checkpoints()[{host_.life(), key}] = content;
    host_.handle(worker_event::DatumCheckpointed{key, !full});
  });
}

void WorkerStore::drop(const DataKey& key) {
  store_.erase(key);
  note("life % drops %:%.%", key);
  spilled_.erase(key);
  world_.checkpoints().erase({host_.life(), key});
  if (const auto found = adopted_.find(key); found != adopted_.end()) {
    world_.checkpoints().erase({found->second, key});
    adopted_.erase(found);
  }
}

// A part of the outputs a client of this host reads where they lie, for a while and whatever becomes of them meanwhile.
// Not drawn from the stream of the others: seeds that once found something go on finding it.
void WorkerStore::map_output(const DataKey& key) {
  const Bytes store_max = world_.config().worker.store_bytes_max;
  Rng mine{mix_bits(world_.options().seed) ^ hash_of(key) ^ host_.life()};
  if (!world_.options().faults.spills || !world_.faults_on() || store_max.is_zero() || !mine.chance(1, 8)) return;
  const Duration begin = std::chrono::microseconds{mine.between(0, 5000)};
  const Duration end = begin + std::chrono::milliseconds{mine.between(1, 5000)};
  host_.after(begin, [this, key, most = Bytes{store_max.value() / 2}] {
    Bytes sum;
    for (const auto& [other, mapped] : mapped_) sum += mapped.bytes;
    const auto found = store_.find(key);
    if (found == store_.end() || sum + found->second.bytes > most) return;
    mapped_[key] = {found->second.bytes};
    tell_mapped();
  });
  host_.after((begin + end) / 2, [this] { tell_mapped(); });
  host_.after(end, [this, key] {
    if (mapped_.erase(key) > 0) tell_mapped();
  });
}

void WorkerStore::tell_mapped() {
  host_.tell_ends();  // The worker acts on them before it knows of these.
  std::vector<DataKey> here;
  Bytes beyond;
  for (auto& [key, mapped] : mapped_) {
    mapped.told_here = store_.contains(key) && !spilled_.contains(key);
    if (mapped.told_here)
      here.push_back(key);
    else
      beyond += mapped.bytes;
  }
  host_.handle(worker_event::DataMapped{here, beyond});
}

void WorkerStore::spill_something() {
  host_.tell_ends();
  if (store_.empty() || host_.hung()) return;
  auto victim = store_.begin();
  std::advance(victim, static_cast<std::ptrdiff_t>(world_.rng().below(store_.size())));
  const DataKey key = victim->first;
  if (is_pinned(key)) return;
  // Its memory goes when the core says so: outputs that still wait for room are not data yet.
  if (!spilled_.contains(key)) host_.handle(worker_event::DatumSpilled{key});
}

}  // namespace penstock::simulation
