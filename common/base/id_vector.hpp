// A vector that only its own kind of id can index.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/check.hpp"

namespace penstock {

/// `std::vector<T>` indexed by `IdType`. Bounds are checked in every build: an index from a peer must have been
/// validated before, so an index out of range is a defect of ours.
template <class IdType, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T{}) : items_(size, value) {}

  T& operator[](IdType id) {
    PENSTOCK_CHECK(id.value() < items_.size());
    return items_[id.value()];
  }
  const T& operator[](IdType id) const {
    PENSTOCK_CHECK(id.value() < items_.size());
    return items_[id.value()];
  }

  bool contains(IdType id) const { return id.value() < items_.size(); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  IdType next_id() const { return IdType{static_cast<typename IdType::Representation>(items_.size())}; }
  IdType push_back(T item) {
    const IdType id = next_id();
    items_.push_back(std::move(item));
    return id;
  }
  void resize(std::size_t size, const T& value = T{}) { items_.resize(size, value); }
  void reserve(std::size_t size) { items_.reserve(size); }

  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace penstock
