// A part of an object that few of its kind have.
#pragma once

#include <memory>
#include <utility>

namespace penstock {

/// Takes a pointer until it is written to; whoever reads it before finds it as it is at first. For objects of which there
/// are many, such as jobs that wait by the hundred thousand and never come to have most of what a job may have; and for
/// what makes one alternative of a variant larger than all others.
///
/// Passive. Cost: one pointer more to follow; an allocation when it is written to first.
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

  /// References are valid until it is written to.
  const T& operator*() const { return value_ == nullptr ? kAtFirst : *value_; }
  const T* operator->() const { return &**this; }
  /// To write to it. References are valid until it is assigned to or taken.
  T& edit() {
    if (value_ == nullptr) [[unlikely]]
      make();
    return *value_;
  }
  /// The same, where nothing has to be written that is not there: null.
  T* if_any() { return value_.get(); }
  bool any() const { return value_ != nullptr; }
  friend bool operator==(const Seldom& one, const Seldom& other) {
    return one.any() == other.any() && *one == *other;
  }
  /// What it was. From now on it is as at first.
  T take() {
    if (value_ == nullptr) return T{};
    return std::move(*std::exchange(value_, nullptr));
  }

 private:
  // Apart, so that what is done for each subtask does not make room for what is done once.
  [[gnu::noinline]] void make() { value_ = std::make_unique<T>(); }

  static inline const T kAtFirst{};  // Beside the class: a local one would be asked for whether it is there.

  std::unique_ptr<T> value_;
};

}  // namespace penstock
