// What the last failed call of a thread was refused for.
#pragma once

#include "client/include/penstock/penstock.h"
#include "common/base/result.hpp"

namespace penstock::abi {

/// Remembers it for `penstock_last_error` of this thread.
void set_last_error(Error error);

/// -1, with the error remembered.
inline std::int32_t fail(Error error) {
  set_last_error(std::move(error));
  return -1;
}
/// Null, likewise.
inline std::nullptr_t refuse(Error error) {
  set_last_error(std::move(error));
  return nullptr;
}

}  // namespace penstock::abi
