// The result of a call of client.hpp: a value or a failure.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "penstock.h"  // tidy: allow arrows: engines have these headers without the root

namespace penstock::engine {

/// The reason of a refusal or failure.
struct Failure {
  std::string code;  ///< `NotFound`, ...
  std::string subject;
  std::string message;
  std::string remedy;

  std::string text() const {
    std::string all = subject.empty() ? message : subject + ": " + message;
    return remedy.empty() ? all : all + " (" + remedy + ")";
  }
};

/// A value, or the failure instead.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT: implicit by design
  Expected(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT: implicit by design
  explicit operator bool() const { return state_.index() == 0; }
  /// REQUIRES: it has a value.
  T& value() & { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const T& value() const& { return std::get<0>(state_); }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }
  /// REQUIRES: it has a failure.
  const Failure& failure() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

/// The failure of this thread's last call.
inline Failure last_failure() {
  const penstock_error error = penstock_last_error();
  return {error.name, error.subject, error.message, error.remedy};
}

}  // namespace penstock::engine
