// Errors as values: a mistake of a user, a peer or a file, with its remedy.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "common/base/check.hpp"
#include "common/base/error_code.hpp"

namespace penstock {

/// One mistake from outside. `message` describes it, `remedy` advises; `subject` is its id, key, path or host (may be
/// empty).
struct Error {
  ErrorCode code = ErrorCode::InvalidArgument;
  std::string subject;
  std::string message;
  std::string remedy;

  friend bool operator==(const Error&, const Error&) = default;
};

/// `subject: message (remedy)` on one line, as the command line prints it.
std::string to_string(const Error& error);

/// Either a value or an `Error`. The member names are those of C++23 `std::expected`, which GCC 12 lacks.
/// Not thread-safe beyond what `T` is.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}       // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// REQUIRES: has_value().
  T& value() & { return check_value(), *std::get_if<0>(&state_); }
  const T& value() const& { return check_value(), *std::get_if<0>(&state_); }
  T&& value() && { return check_value(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// REQUIRES: !has_value().
  const Error& error() const& { return check_error(), *std::get_if<1>(&state_); }
  Error&& error() && { return check_error(), std::move(*std::get_if<1>(&state_)); }

  T value_or(T other) const& { return has_value() ? *std::get_if<0>(&state_) : std::move(other); }

 private:
  void check_value() const { PENSTOCK_CHECK_MSG(has_value(), to_string(*std::get_if<1>(&state_))); }
  void check_error() const { PENSTOCK_CHECK(!has_value()); }

  std::variant<T, Error> state_;
};

/// A result that carries no value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT: implicit by design

  bool has_value() const { return !failed_; }
  explicit operator bool() const { return has_value(); }
  /// REQUIRES: !has_value().
  const Error& error() const& { return PENSTOCK_CHECK(failed_), error_; }
  Error&& error() && { return PENSTOCK_CHECK(failed_), std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace penstock

/// Returns the error of `expression` from the enclosing function, if it has one.
#define PENSTOCK_TRY(expression)                                                   \
  do {                                                                             \
    if (auto penstock_result = (expression); !penstock_result.has_value()) \
      return std::move(penstock_result).error();                                   \
  } while (false)
