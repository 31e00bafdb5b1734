// Items that lack something other than slots, or a device that their job is kept to.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/core/band/device_rooms.hpp"
#include "worker/core/band/queue_items.hpp"

namespace penstock::worker {

/// Keeps items that lack something other than slots apart, or that may have no more of the devices of their job, so
/// that any number of them does not delay items that do not want the same. Almost always there are none. The first of
/// them that was bypassed too often keeps what it lacks from all behind it. Cost: O(groups) when resources were given
/// back; a group has the items of one job with one request.
class ParkedItems {
 public:
  ParkedItems(QueueItems& items, const ResourceVector& available, const DeviceRooms& devices, std::uint32_t bypass_max)
      : items_(items), available_(available), devices_(devices), bypass_max_(bypass_max) {}
  ParkedItems(const ParkedItems&) = delete;
  ParkedItems& operator=(const ParkedItems&) = delete;

  bool any() const { return count_ > 0; }
  /// Resources were given back, or an item has left, since parked items were considered.
  bool may_fit() const { return may_fit_; }
  void look_again() { may_fit_ = any(); }

  /// Whether the item lacks anything beside slots, or wants resources that are kept for one before it.
  bool must_park(const QueueNode& node) const {
    return lacks_beside_slots(*node.item.request, available_) || is_kept_from(node) || exceeds_devices(node);
  }
  void park(QueueNode& node);
  /// The item leaves the queue.
  void remove(QueueNode& node) {
    leave(node);
    items_.count_unparked();
    node.state = QueueState::Absent;
  }
  void update_priority(QueueNode& node) { groups_[node.group].update(node.heap_position, key_of(node.item)); }
  /// Returns items to the line, the best first, as far as the resources suffice; and each that lacks only slots, to
  /// line up for them. True if others may start now.
  bool return_fitting();
  void return_all_of(JobSlot job);
  /// Counts a bypass for each parked item before the granted one that lacks a granted resource.
  void count_bypassed(const QueueNode& granted);

  template <class Visit>
  void for_each(Visit visit) const {
    for (const ItemHeap& group : groups_) group.for_each([&](const ItemKey& key) { visit(key.record); });
  }
  /// Whether it is the best of its group. If the best lacks something, all do.
  bool is_best(const QueueNode& node) const { return groups_[node.group].top().record == node.item.record; }
  void validate() const;

 private:
  static bool lacks_beside_slots(const ResourceVector& request, const ResourceVector& available) {
    if (request.named.empty() && request.cpu <= available.cpu && request.gpu <= available.gpu &&
        request.device_memory <= available.device_memory)
      return false;
    return lacks_any(request, available);
  }
  static bool lacks_any(const ResourceVector& request, const ResourceVector& available);
  bool is_kept_from(const QueueNode& node) const { return keeper_.valid() && is_kept_by_keeper(node); }
  bool is_kept_by_keeper(const QueueNode& node) const;
  bool exceeds_devices(const QueueNode& node) const {
    return devices_.any_kept() && !node.resumed && devices_.exceeds_kept(node.item.job, *node.item.request);
  }
  bool exceeds_entitlement(const QueueNode& node) const {
    return items_.exceeds_entitlement(node.item) || exceeds_devices(node);
  }
  void leave(QueueNode& node);
  void return_one(QueueNode& node);
  void choose_keeper();
  RecordIndex best(const ResourceVector& left) const;

  QueueItems& items_;
  const ResourceVector& available_;
  const DeviceRooms& devices_;
  const std::uint32_t bypass_max_;
  std::vector<ItemHeap> groups_;  ///< Empty ones are used again.
  std::size_t count_ = 0;
  bool may_fit_ = false;
  RecordIndex keeper_;   ///< The first parked item that was bypassed too often,
  ResourceVector kept_;  ///< and the resources that it keeps from all behind it.
};

}  // namespace penstock::worker
