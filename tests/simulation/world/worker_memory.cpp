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
  handle(worker_event::RunsMeasured{std::span{&memory, 1}});
}

}  // namespace penstock::simulation
