// The actions that a core orders, in order.
#pragma once

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace penstock {

/// An append-only list that a core fills and its shell carries out in order. The shell clears and reuses it, so that a
/// warm core allocates nothing here.
template <class Action>
class Actions {
 public:
  template <class Concrete>
  void add(Concrete&& action) {
    items_.emplace_back(std::forward<Concrete>(action));
  }

  /// Adds an action for the caller to fill in place: actions of every subtask should not be copied.
  template <class Concrete>
  Concrete& add() {
    return std::get<Concrete>(items_.emplace_back(std::in_place_type<Concrete>));
  }

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  void clear() { items_.clear(); }

  Action& operator[](std::size_t position) { return items_[position]; }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::vector<Action> items_;
};

}  // namespace penstock
