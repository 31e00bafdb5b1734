#include "supervisor/core/worker_table.hpp"

#include <algorithm>
#include <charconv>

#include "common/protocol/labels.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/core/graph_shape.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::size_t kChangesKept = 1024;

template <class SlotId, class Entry>
SlotId obtain(LargeArray<Entry>& entries, std::vector<SlotId>& free) {
  if (!free.empty()) {
    const SlotId slot = free.back();
    free.pop_back();
    entries[slot.value()] = Entry{};
    return slot;
  }
  entries.emplace_back();
  return SlotId{static_cast<std::uint32_t>(entries.size() - 1)};
}

}  // namespace

bool WorkerTable::some_refuse(const std::string& user) const {
  return std::any_of(user_lists_.begin(), user_lists_.end(), [&](const std::vector<std::string>& users) {
    return std::find(users.begin(), users.end(), user) == users.end();
  });
}

WorkerSlot WorkerTable::add(WorkerId id, Incarnation incarnation, const Register& description) {
  const WorkerSlot slot = obtain(workers_, free_workers_);
  std::vector<BandSlot> bands;
  for (std::size_t i = 0; i < description.bands.size(); ++i) {
    const BandSlot band_slot = obtain(bands_, free_bands_);
    BandEntry& band = bands_[band_slot.value()];
    band.id = BandId{id, BandIndex{static_cast<std::uint16_t>(i)}};
    band.worker = slot;
    band.description = description.bands[i];
    band.kind = band.description.kind;
    band.alive = true;
    const std::int64_t milli_slots = band.description.capacity.slots.value();
    // Rounded up without a sum: a worker may claim any number.
    band.slots = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(milli_slots / 1000 + (milli_slots % 1000 > 0), 1, 1'000'000));
    bands.push_back(band_slot);
    ++alive_bands_;
    touch(band_slot);
  }
  WorkerEntry& worker = workers_[slot.value()];
  worker.id = id;
  worker.incarnation = incarnation;
  worker.description = description;
  if (!description.users.empty()) user_lists_.insert(description.users);
  worker.alive = true;
  index_[Number{id}] = WorkerPlace{slot, bands.empty() ? BandSlot::none() : bands.front()};
  worker.bands = std::move(bands);
  ++alive_workers_;
  touch_numbered(description.name);
  return slot;
}

void WorkerTable::remove(WorkerSlot slot) {
  WorkerEntry& worker = workers_[slot.value()];
  for (const BandSlot band : worker.bands) {
    bands_[band.value()].alive = false;
    bands_[band.value()].assigned = {};
    bands_[band.value()].waiting = {};
    bands_[band.value()].entitled = {};
    free_bands_.push_back(band);
    --alive_bands_;
    touch(band);
  }
  worker.alive = false;
  worker.outbox = WorkerEntry::kNoOutbox;
  worker.new_peers = {};
  worker.has_new_peers = false;
  worker.held = {};
  index_.erase(Number{worker.id});
  free_workers_.push_back(slot);
  --alive_workers_;
  touch_numbered(worker.description.name);
}

void WorkerTable::touch_numbered(const std::string& name) {
  std::uint32_t number = 0;
  const char* end = name.data() + name.size();
  if (name.empty() || name[0] != 'w' || std::from_chars(name.data() + 1, end, number).ptr != end) return;
  const WorkerSlot slot = find(WorkerId{number});
  if (!slot.valid() || workers_[slot.value()].description.name == name) return;
  for (const BandSlot band : workers_[slot.value()].bands) touch(band);
}

// A reader that has missed more changes than that examines all bands instead.
void WorkerTable::touch(BandSlot band) {
  if (changes_.size() >= std::max<std::size_t>(kChangesKept, bands_.size() * 2)) {
    const std::size_t forgotten = changes_.size() / 2;
    changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(forgotten));
    first_epoch_ += forgotten;
  }
  changes_.push_back(band);
}

WorkerSlot WorkerTable::find(const std::string& name) const {
  WorkerSlot numbered = WorkerSlot::none();
  for (std::uint32_t slot = 0; slot < workers_.size(); ++slot) {
    const WorkerEntry& worker = workers_[slot];
    if (!worker.alive) continue;
    if (worker.description.name == name) return WorkerSlot{slot};
    if (to_string(worker.id) == name) numbered = WorkerSlot{slot};
  }
  return numbered;
}

bool WorkerTable::selects(const BandSelector& selector, const BandEntry& band) const {
  if (!selector.band.empty() && selector.band != band.description.name) return false;
  if (selector.worker.empty() || selector.worker == workers_[band.worker.value()].description.name) return true;
  // The number of one worker may be the name of another, which is meant then.
  return selector.worker == to_string(band.id.worker) && find(selector.worker) == band.worker;
}

namespace {

/// The amounts of a band are the sums of its devices: plans and runs count on both.
Result<void> check_devices(const std::string& worker, const BandDescription& band) {
  if (band.devices.empty()) return {};
  Bytes memory;
  for (const DeviceDescription& device : band.devices) memory += device.memory;
  const auto count = static_cast<std::int64_t>(band.devices.size());
  const bool lacks = std::any_of(band.devices.begin(), band.devices.end(),
                                 [](const DeviceDescription& device) { return device.memory < Bytes{0}; });
  if (band.devices.size() <= kBandDevicesMax && !lacks && band.capacity.gpu == MilliGpu{1000} * count &&
      band.capacity.device_memory == memory)
    return {};
  return Error{ErrorCode::InvalidArgument, "worker '" + worker + "'",
               "says of its band '" + band.name + "' that it has " + std::to_string(count) + " devices and " +
                   std::to_string(band.capacity.gpu.value()) + " thousandths of devices with " +
                   std::to_string(band.capacity.device_memory.value()) + " bytes of their memory",
               "a band has at most " + std::to_string(kBandDevicesMax) + " devices, and their sums"};
}

}  // namespace

Result<void> check_registration(const Register& description, std::uint32_t name_bytes_max) {
  PENSTOCK_TRY(check_name(description.name, "worker name", name_bytes_max));
  PENSTOCK_TRY(check_name(description.host, "host name", name_bytes_max));
  PENSTOCK_TRY(check_name(description.data_address, "data address", name_bytes_max));
  const auto refuse = [&](std::string message) {
    return Error{ErrorCode::InvalidArgument, "worker '" + description.name + "'", std::move(message), {}};
  };
  if (description.name.empty()) return refuse("has no name");
  if (description.bands.size() > kWorkerBandsMax)
    return refuse("has " + std::to_string(description.bands.size()) + " bands; at most " +
                  std::to_string(kWorkerBandsMax) + " are allowed");
  if (description.crash) PENSTOCK_TRY(check_name(description.crash->message, "crash message", kCrashMessageBytesMax));
  for (const std::string& name : description.operators) PENSTOCK_TRY(check_name(name, "operator name", name_bytes_max));
  for (const std::string& label : description.labels) PENSTOCK_TRY(check_name(label, "label", name_bytes_max));
  PENSTOCK_TRY(check_labels("worker '" + description.name + "'", description.labels));
  for (const std::string& user : description.users) PENSTOCK_TRY(check_name(user, "user's name", name_bytes_max));
  if (description.users.size() > kAcceptedUsersMax)
    return refuse("names " + std::to_string(description.users.size()) + " users; at most " +
                  std::to_string(kAcceptedUsersMax) + " are allowed");
  for (const BandDescription& band : description.bands) {
    PENSTOCK_TRY(check_name(band.name, "band name", name_bytes_max));
    const ResourceVector& has = band.capacity;
    const std::int64_t least = std::min({has.slots.value(), has.cpu.value(), has.gpu.value(), has.memory.value(),
                                         has.device_memory.value(), band.memory_hard_limit.value()});
    if (least < 0) return refuse("says of its band '" + band.name + "' that it has less than nothing");
    for (const NamedAmount& named : has.named) {
      PENSTOCK_TRY(check_name(named.name, "resource name", name_bytes_max));
      if (named.amount < 0) return refuse("has less than nothing of '" + named.name + "'");
    }
    PENSTOCK_TRY(check_devices(description.name, band));
  }
  return {};
}

Result<void> check_unchanged(const Register& known, const Register& reported, const PolicyConfig& policy) {
  const auto changed = [&](std::string message) {
    return Error{ErrorCode::WrongState, "worker '" + known.name + "'", std::move(message), "restart the worker"};
  };
  const std::int64_t pool = pool_of_worker(policy, known.name);
  if (pool != pool_of_worker(policy, reported.name))
    return changed("its resource pool has changed: it was '" + policy.pools[static_cast<std::size_t>(pool)].name + "'");
  const auto devices = [](const Register& of) {
    std::vector<std::string> all;
    for (const BandDescription& band : of.bands)
      for (const DeviceDescription& device : band.devices)
        all.push_back(device.uuid + " " + device.name + " " + device.pci_address);
    std::sort(all.begin(), all.end());
    return all;
  };
  const std::vector<std::string> before = devices(known);
  const std::vector<std::string> now = devices(reported);
  if (before.size() != now.size())
    return changed("its device count has changed: it was " + std::to_string(before.size()) + ", and is " +
                   std::to_string(now.size()));
  if (before != now) return changed("its device properties have changed");
  return {};
}

}  // namespace penstock::supervisor
