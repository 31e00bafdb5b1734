// WorkerHost: what runs of a simulated worker use, what is measured of it, what leaves memory and what others map.
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using std::chrono::microseconds;

Bytes WorkerHost::used_by(const Run& run) const {
  return Bytes{run.program->request.memory.value() / 100 * static_cast<std::int64_t>(fate_of(run.id))};
}

// Half of those that request memory are looked at in their midst. Of some their end will say nothing.
void WorkerHost::measure_run(RecordIndex record, std::uint64_t number) {
  const auto found = runs_.find(record);
  if (found == runs_.end() || found->second.number != number) return;
  const worker::RunMemory memory{record, found->second.attempt, used_by(found->second)};
  const BandIndex band = found->second.band;
  handle(worker_event::RunsMeasured{std::span{&memory, 1}});
  if (world_.faults_on() && world_.rng().chance(1, 8)) measure_band(band, static_cast<int>(world_.rng().below(4)));
}

// Runners hold more than the band may, a few times, then nothing: what was held back for that goes on.
void WorkerHost::measure_band(BandIndex band, int high) {
  const Bytes limit = bands_[band.value()].memory_hard_limit;
  const Bytes used = high > 0 ? limit + kMiB * 64 : Bytes{0};
  const Bytes idle = high > 0 && world_.rng().chance(1, 2) ? kMiB * (world_.rng().chance(1, 2) ? 32 : 64) : Bytes{0};
  handle(worker_event::MemoryMeasured{band, used, RunnerKind::Process, idle});
  if (high == 0) return;
  world_.queue().after(world_.worker_config().relieve_every, [this, band, high, life = life_] {
    if (life == life_ && up_) deliver([this, band, high] { measure_band(band, high - 1); });
  });
}

void WorkerHost::spill(const DataKey& key) {
  const auto mapped = mapped_.find(key);
  if (!store_.contains(key) || (mapped != mapped_.end() && mapped->second.told_here))
    world_.oracle().breach(to_string(key) + " is to be spilled and is not here, or mapped");
  world_.queue().after(std::chrono::microseconds{world_.rng().between(10, 5000)}, [this, key, life = life_] {
    if (life != life_ || !up_) return;
    deliver([this, key] {
      const bool full = world_.options().faults.spills && world_.faults_on() && world_.rng().chance(1, 10);
      handle(worker_event::DatumSpilled{key, store_.contains(key) && !full});
    });
  });
}

// A part of the outputs a client of this host reads where they lie, for a while and whatever becomes of them meanwhile.
// Not drawn from the stream of the others: seeds that once found something go on finding it.
void WorkerHost::map_output(const DataKey& key) {
  const Bytes store_max = world_.worker_config().store_bytes_max;
  Rng mine{mix_bits(world_.options().seed) ^ hash_of(key) ^ life_};
  if (!world_.options().faults.spills || !world_.faults_on() || store_max.is_zero() || !mine.chance(1, 8)) return;
  const Duration begin = std::chrono::microseconds{mine.between(0, 5000)};
  const Duration end = begin + std::chrono::milliseconds{mine.between(1, 5000)};
  const auto later = [&](Duration when, auto work) {
    world_.queue().after(when, [this, work, life = life_] {
      if (life == life_ && up_) deliver(work);
    });
  };
  later(begin, [this, key, most = Bytes{store_max.value() / 2}] {
    Bytes sum;
    for (const auto& [other, mapped] : mapped_) sum += mapped.bytes;
    const auto found = store_.find(key);
    if (found == store_.end() || sum + found->second.bytes > most) return;
    mapped_[key] = {found->second.bytes};
    tell_mapped();
  });
  later((begin + end) / 2, [this] { tell_mapped(); });
  later(end, [this, key] {
    if (mapped_.erase(key) > 0) tell_mapped();
  });
}

void WorkerHost::tell_mapped() {
  tell_ends();  // The worker acts on them before it knows of these.
  std::vector<DataKey> here;
  Bytes beyond;
  for (auto& [key, mapped] : mapped_) {
    mapped.told_here = store_.contains(key) && !spilled_.contains(key);
    if (mapped.told_here)
      here.push_back(key);
    else
      beyond += mapped.bytes;
  }
  handle(worker_event::DataMapped{here, beyond});
}

void WorkerHost::restore(const DataKey& key) {
  world_.queue().after(microseconds{world_.rng().between(10, 5000)}, [this, key, life = life_] {
    if (life != life_ || !up_) return;
    deliver([this, key] {
      const bool unlucky = world_.options().faults.fetch_failures && world_.faults_on() && world_.rng().chance(1, 20);
      // A datum that was made again meanwhile is in memory, and needs no disk.
      const bool here = store_.contains(key) && !spilled_.contains(key);
      const bool damaged = !here && (unlucky || !store_.contains(key));
      spilled_.erase(key);
      if (damaged) store_.erase(key);
      handle(worker_event::DatumRestored{key, !damaged});
    });
  });
}

void WorkerHost::checkpoint(const DataKey& key) {
  const Content content = store_.at(key);
  world_.queue().after(microseconds{world_.rng().between(10, 5000)}, [this, key, content, life = life_] {
    if (life != life_ || !up_) return;
    deliver([this, key, content] {
      const bool full = world_.faults_on() && world_.rng().chance(1, 10);
      if (!full) world_.checkpoints()[{life_, key}] = content;
      handle(worker_event::DatumCheckpointed{key, !full});
    });
  });
}

void WorkerHost::drop(const DataKey& key) {
  store_.erase(key);
  note_datum("life % drops %:%.%", key);
  spilled_.erase(key);
  world_.checkpoints().erase({life_, key});
  if (const auto found = adopted_.find(key); found != adopted_.end()) {
    world_.checkpoints().erase({found->second, key});
    adopted_.erase(found);
  }
}

}  // namespace penstock::simulation
