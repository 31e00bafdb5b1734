// A part of an object that few objects of its kind have.
#pragma once

#include <memory>
#include <utility>

namespace penstock {

/// A pointer until the first write; before that a reader finds a default value. For objects that exist in large numbers
/// and mostly do not use a part, such as hundreds of thousands of waiting jobs; and for members that make one
/// alternative of a variant larger than all others.
///
/// Passive. Cost: one more pointer to follow; an allocation at the first write.
template <class T>
class Seldom {
 public:
  Seldom() = default;
  explicit Seldom(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Seldom(const Seldom& other) : value_(other.value_ == nullptr ? nullptr : std::make_unique<T>(*other.value_)) {}
  Seldom(Seldom&&) noexcept = default;
  Seldom& operator=(Seldom other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Seldom() = default;

  /// References are valid until the first write.
  const T& operator*() const { return value_ == nullptr ? kAtFirst : *value_; }
  const T* operator->() const { return &**this; }
  /// Access for writing. References are valid until it is assigned to or taken.
  T& edit() {
    if (value_ == nullptr) [[unlikely]]
      make();
    return *value_;
  }
  /// Access for writing only if there is a value, else null.
  T* if_any() { return value_.get(); }
  bool any() const { return value_ != nullptr; }
  friend bool operator==(const Seldom& one, const Seldom& other) {
    return one.any() == other.any() && *one == *other;
  }
  /// Moves the value out and restores the default.
  T take() {
    if (value_ == nullptr) return T{};
    return std::move(*std::exchange(value_, nullptr));
  }

 private:
  // A function of its own, so that the rare path is not inlined into the code of each subtask.
  [[gnu::noinline]] void make() { value_ = std::make_unique<T>(); }

  static inline const T kAtFirst{};  // Beside the class: a local static would need a check for its initialisation.

  std::unique_ptr<T> value_;
};

}  // namespace penstock
