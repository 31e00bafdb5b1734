#include "worker/store/device_store.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "common/base/check.hpp"

namespace penstock::worker {

struct DeviceStore::State {
  State(DeviceMemory& device_memory, ObjectStore& host_store, Bytes capacity, Bytes device)
      : memory(device_memory), host(host_store), ledger(capacity, device) {}

  struct Place {
    std::uint64_t address = 0;
    Bytes bytes;
  };

  /// Locks `mutex`, then removes dropped data and applies claims before the caller does anything else.
  std::unique_lock<std::mutex> enter();

  // REQUIRES, for all: the mutex is held.
  Result<std::uint64_t> take_memory(Bytes bytes);
  Result<void> make_room(Bytes bytes);
  Result<void> make_leave(const std::vector<DeviceRoom::Leaver>& leaving);
  Result<BlobPtr> copy_to_host(const DataKey& key);
  Result<void> bring(const DataKey& key, Bytes& promised);
  std::uint64_t pin(const DataKey& key);
  std::optional<std::uint64_t> pin_if_here(const DataKey& key, Bytes& promised);
  void keep(const DataKey& key, const Place& place);
  void forget(const DataKey& key);

  DeviceMemory& memory;
  ObjectStore& host;
  /// Held by the thread that locks `mutex` next, until it has it: a thread that locks `mutex` repeatedly lets others in
  /// between. Locked before `mutex`.
  mutable std::mutex turnstile;
  mutable std::mutex mutex;        ///< Guards the members except the next four, and `memory`.
  mutable std::mutex short_mutex;  ///< Guards these three, and is never held for long; locked last.
  std::set<DataKey> dropped;       ///< Data still on the device that have been dropped.
  std::map<DataKey, Bytes> sizes;  ///< Of the data in `places` without `dropped`.
  Bytes claims;                    ///< Claims that `ledger` does not know yet; negative: claims that have ended.
  DeviceLedger ledger;
  std::map<DataKey, Place> places;  ///< Of the data in `ledger`.
  struct Leftover {
    Bytes bytes;
    std::uint32_t pins = 0;
  };
  /// By address: data pinned when they were forgotten. Reserved in `ledger`.
  std::map<std::uint64_t, Leftover> leftovers;
  std::uint64_t spilled = 0;
};

DeviceStore::DeviceStore(DeviceMemory& memory, ObjectStore& host, Bytes capacity, Bytes device)
    : state_(std::make_unique<State>(memory, host, capacity, device)) {}

DeviceStore::~DeviceStore() {
  for (const auto& [key, place] : state_->places) state_->memory.free(place.address);
  for (const auto& [address, leftover] : state_->leftovers) state_->memory.free(address);
}

std::unique_lock<std::mutex> DeviceStore::State::enter() {
  std::unique_lock turn{turnstile};
  std::unique_lock lock{mutex};
  turn.unlock();
  std::set<DataKey> gone;
  {
    const std::lock_guard short_lock{short_mutex};
    gone.swap(dropped);
    // A claim that ends was made before: the ledger never gets more ends than claims.
    if (claims > Bytes{0}) ledger.claim(claims);
    if (claims < Bytes{0}) ledger.unclaim(Bytes{-claims.value()});
    claims = {};
  }
  for (const DataKey& key : gone) forget(key);
  return lock;
}

Result<void> DeviceStore::State::make_room(Bytes bytes) {
  const DeviceRoom room = ledger.room_for(bytes);
  const std::string wanted = std::to_string(bytes.value()) + " bytes";
  const std::string all = std::to_string(ledger.capacity().value()) + " bytes";
  if (room.answer == DeviceRoom::Answer::Never)
    return Error{ErrorCode::LimitExceeded, wanted, "can never fit into a device's memory of " + all, {}};
  if (room.answer == DeviceRoom::Answer::Later)
    return Error{ErrorCode::ResourceExhausted, wanted,
                 "find no room on the device: of " + all + " " + std::to_string(ledger.used().value()) +
                     " are in use, and too much of that is pinned; runs have requested " +
                     std::to_string(ledger.claimed().value()) + " of the device",
                 "try again when a run has ended"};
  return make_leave(room.leaving);
}

Result<void> DeviceStore::State::make_leave(const std::vector<DeviceRoom::Leaver>& leaving) {
  for (const DeviceRoom::Leaver& leaver : leaving) {
    if (!leaver.host_has_it) {
      const Result<BlobPtr> copied = copy_to_host(leaver.key);
      if (!copied) return copied.error();
      ++spilled;
    }
    forget(leaver.key);
  }
  return {};
}

// Reserved in the ledger as well. The device may be full before the store is, because other processes use it, too.
Result<std::uint64_t> DeviceStore::State::take_memory(Bytes bytes) {
  PENSTOCK_TRY(make_room(bytes));
  for (;;) {
    Result<std::uint64_t> address = memory.allocate(static_cast<std::size_t>(bytes.value()));
    if (address) ledger.reserve(bytes);
    if (address || address.error().code != ErrorCode::ResourceExhausted) return address;
    const std::size_t here = places.size();
    if (here == 0) return address;
    PENSTOCK_TRY(make_room(std::max(ledger.limit() - ledger.used(), Bytes{0}) + Bytes{1}));
    if (places.size() == here) return address;
  }
}

Result<BlobPtr> DeviceStore::State::copy_to_host(const DataKey& key) {
  const Place& place = places.at(key);
  const std::shared_ptr<Blob> blob = host.allocate(static_cast<std::size_t>(place.bytes.value()));
  if (blob == nullptr)
    return Error{
        ErrorCode::ResourceExhausted, to_string(key), "finds no memory on the host to leave the device for", {}};
  PENSTOCK_TRY(memory.read(place.address, {blob->data(), static_cast<std::size_t>(place.bytes.value())}));
  ledger.host_has(key);
  // A caller that drops the datum adds it to `dropped` first, and then drops the host's copy.
  const std::lock_guard short_lock{short_mutex};
  if (!dropped.contains(key)) host.put_here(key, blob);
  return BlobPtr{blob};
}

Result<void> DeviceStore::State::bring(const DataKey& key, Bytes& promised) {
  const BlobPtr blob = host.load_here_now(key);
  if (blob == nullptr)
    return Error{ErrorCode::NotFound, to_string(key), "is neither on the device nor on the host", {}};
  const Bytes bytes{static_cast<std::int64_t>(blob->bytes().size())};
  const Bytes part = std::min(bytes, promised);
  ledger.unclaim(part);
  const Result<std::uint64_t> address = take_memory(bytes);
  if (!address) {
    ledger.claim(part);
    return address.error();
  }
  if (Result<void> written = memory.write(*address, blob->bytes()); !written) {
    memory.free(*address);
    ledger.unreserve(bytes);
    ledger.claim(part);
    return written;
  }
  promised -= part;
  ledger.add(key, bytes, true);
  keep(key, {*address, bytes});
  return {};
}

void DeviceStore::State::keep(const DataKey& key, const Place& place) {
  places[key] = place;
  const std::lock_guard short_lock{short_mutex};
  sizes[key] = place.bytes;
}

void DeviceStore::State::forget(const DataKey& key) {
  const auto found = places.find(key);
  if (found == places.end()) return;
  const Place place = found->second;
  const std::uint32_t pins = ledger.pins(key);
  ledger.remove(key);
  places.erase(found);
  {
    const std::lock_guard short_lock{short_mutex};
    sizes.erase(key);
  }
  if (pins == 0) return memory.free(place.address);
  leftovers[place.address] = {place.bytes, pins};
  ledger.reserve(place.bytes);
}

Result<DeviceBuffer> DeviceStore::allocate(Bytes bytes, Bytes promised) {
  if (bytes <= Bytes{0})
    return Error{ErrorCode::InvalidArgument, std::to_string(bytes.value()) + " bytes", "are no datum", {}};
  const auto lock = state_->enter();
  state_->ledger.unclaim(promised);
  const Result<std::uint64_t> address = state_->take_memory(bytes);
  if (!address) {
    state_->ledger.claim(promised);
    return address.error();
  }
  return DeviceBuffer{state_.get(), *address, bytes};
}

void DeviceStore::claim(Bytes bytes) {
  const std::lock_guard short_lock{state_->short_mutex};
  state_->claims += bytes;
}

void DeviceStore::unclaim(Bytes bytes) {
  const std::lock_guard short_lock{state_->short_mutex};
  state_->claims -= bytes;
}

Result<void> DeviceStore::make_free() {
  for (;;) {
    std::vector<DeviceRoom::Leaver> leaving;
    {
      const auto lock = state_->enter();
      leaving = state_->ledger.excess();
    }
    if (leaving.empty()) return {};
    for (const DeviceRoom::Leaver& planned : leaving) {
      const auto lock = state_->enter();
      if (state_->ledger.used() <= state_->ledger.limit()) return {};
      if (const std::optional<DeviceRoom::Leaver> leaver = state_->ledger.leaver(planned.key))
        PENSTOCK_TRY(state_->make_leave({*leaver}));
    }
  }
}

void DeviceStore::put(const DataKey& key, DeviceBuffer buffer) {
  PENSTOCK_CHECK(buffer.store_ == state_.get());
  const auto lock = state_->enter();
  state_->forget(key);
  state_->host.drop_here(key);  // A copy of an earlier attempt.
  state_->ledger.add(key, buffer.bytes_, false);
  state_->keep(key, {buffer.address_, buffer.bytes_});
  buffer.store_ = nullptr;
}

std::uint64_t DeviceStore::State::pin(const DataKey& key) {
  ledger.pin(key);
  return places.at(key).address;
}

Result<std::uint64_t> DeviceStore::pin(const DataKey& key) {
  Bytes nothing;
  return pin(key, nothing);
}

Result<std::uint64_t> DeviceStore::pin(const DataKey& key, Bytes& promised) {
  const auto lock = state_->enter();
  if (const std::optional<std::uint64_t> here = state_->pin_if_here(key, promised)) return *here;
  PENSTOCK_TRY(state_->bring(key, promised));
  return state_->pin(key);
}

std::optional<std::uint64_t> DeviceStore::State::pin_if_here(const DataKey& key, Bytes& promised) {
  if (!ledger.has(key)) return std::nullopt;
  const Bytes part = std::min(promised, ledger.bytes_of(key));
  ledger.unclaim(part);
  promised -= part;
  return pin(key);
}

std::optional<std::uint64_t> DeviceStore::pin_if_here(const DataKey& key, Bytes& promised) {
  const auto lock = state_->enter();
  return state_->pin_if_here(key, promised);
}

void DeviceStore::unpin(const DataKey& key, std::uint64_t address) {
  const auto lock = state_->enter();
  const auto leftover = state_->leftovers.find(address);
  if (leftover == state_->leftovers.end()) return state_->ledger.unpin(key);
  if (--leftover->second.pins > 0) return;
  state_->memory.free(address);
  state_->ledger.unreserve(leftover->second.bytes);
  state_->leftovers.erase(leftover);
}

Result<BlobPtr> DeviceStore::to_host(const DataKey& key) {
  const auto lock = state_->enter();
  if (BlobPtr blob = state_->host.find_here(key); blob != nullptr) return blob;
  if (state_->ledger.has(key)) return state_->copy_to_host(key);
  BlobPtr blob = state_->host.load_here_now(key);
  if (blob == nullptr)
    return Error{ErrorCode::NotFound, to_string(key), "is neither on the device nor on the host", {}};
  return blob;
}

void DeviceStore::drop(const DataKey& key) {
  const std::lock_guard short_lock{state_->short_mutex};
  if (state_->sizes.erase(key) > 0) state_->dropped.insert(key);
}

void DeviceStore::clear() {
  const auto lock = state_->enter();
  while (!state_->places.empty()) state_->forget(DataKey{state_->places.begin()->first});
}

Bytes DeviceStore::bytes_of(const DataKey& key) const {
  const std::lock_guard short_lock{state_->short_mutex};
  const auto found = state_->sizes.find(key);
  return found == state_->sizes.end() ? Bytes{0} : found->second;
}

Bytes DeviceStore::used() const {
  const auto lock = state_->enter();
  return state_->ledger.used();
}

std::uint64_t DeviceStore::spilled() const {
  const std::lock_guard lock{state_->mutex};
  return state_->spilled;
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)), address_(other.address_), bytes_(other.bytes_) {}

DeviceBuffer::~DeviceBuffer() {
  if (store_ == nullptr) return;
  const auto lock = store_->enter();
  store_->memory.free(address_);
  store_->ledger.unreserve(bytes_);
}

}  // namespace penstock::worker
