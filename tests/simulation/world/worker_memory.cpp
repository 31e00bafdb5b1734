// WorkerHost: what runs of a simulated worker use, and what is measured of it.
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;

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

}  // namespace penstock::simulation
