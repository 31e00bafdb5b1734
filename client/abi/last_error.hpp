// The error of the last failed call of a thread.
#pragma once

#include "client/include/penstock/penstock.h"
#include "common/base/result.hpp"

namespace penstock::abi {

/// Stores it for `penstock_last_error` of this thread.
void set_last_error(Error error);

/// Returns -1 and stores the error.
inline std::int32_t fail(Error error) {
  set_last_error(std::move(error));
  return -1;
}
/// Returns null and stores the error.
inline std::nullptr_t refuse(Error error) {
  set_last_error(std::move(error));
  return nullptr;
}

}  // namespace penstock::abi
