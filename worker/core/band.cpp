#include "worker/core/band.hpp"

namespace penstock::worker {
namespace {

ResourceVector one_permit() {
  ResourceVector permit;
  permit.slots = kOneSlot;
  return permit;
}

ResourceVector prepare_capacity(const BandDescription& description, const WorkerConfig& config) {
  ResourceVector capacity;
  const std::int64_t slots = (description.capacity.slots.value() + 999) / 1000;
  capacity.slots = kOneSlot * (slots + config.prepare_permits_extra);
  capacity.memory = config.prepare_bytes_max;
  return capacity;
}

// A lane's number has 16 bits.
std::uint32_t lanes_max(const BandDescription& description, const WorkerConfig& config) {
  const std::int64_t numbers = 65000 - std::int64_t{config.yields_max};
  const std::int64_t slots = std::max<std::int64_t>(1, (description.capacity.slots.value() + 999) / 1000);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(slots * config.lanes_per_slot_max, numbers));
}

}  // namespace

Band::Band(BandIndex band_index, const BandDescription& band_description, const WorkerConfig& config)
    : index(band_index),
      description(band_description),
      permit(one_permit()),
      prepare(prepare_capacity(description, config), {config.bypass_max, config.scan_max, 65000}),
      execute(description.capacity,
              {config.bypass_max, config.scan_max, lanes_max(description, config), config.yields_max}),
      quota(description.capacity.memory, description.memory_hard_limit,
            {config.bypass_max, config.scan_max, config.forward_bypass_max}),
      store_permits_free(config.store_permits),
      runner_kinds(config.runner_kinds_max) {}

}  // namespace penstock::worker
