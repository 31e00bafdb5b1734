// Checks the arguments of callers before they are used.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "client/abi/last_error.hpp"
#include "client/include/penstock/penstock.h"
#include "common/base/ids.hpp"
#include "common/base/result.hpp"

/// Follows a function's body: no exception reaches callers, which may be in any language.
#define PENSTOCK_NOTHING_THROWN(on_failure)     \
  catch (...) {                                 \
    return on_failure(penstock::abi::caught()); \
  }

struct penstock_client;

namespace penstock::abi {

/// The exception that was thrown, as an error. REQUIRES: inside a handler.
Error caught();

inline Error is_null(const std::string& what) { return {ErrorCode::InvalidArgument, what, "is NULL", {}}; }

/// Error: InvalidArgument without a client, NotFound if no job has that number.
Result<JobId> job_of(const penstock_client* client, std::int64_t number);

/// Copies the members of a struct with `size` that the caller knows; the others are 0. `least`: bytes of its first
/// version.
template <class Struct>
Result<Struct> whole(const Struct* given, std::size_t least, const std::string& what) {
  if (given == nullptr) return is_null(what);
  if (given->size < least)
    return Error{ErrorCode::InvalidArgument, what, "its `size` is " + std::to_string(given->size) + ", and not set",
                 "set it to `sizeof`"};
  Struct all{};
  std::memcpy(&all, given, std::min<std::uint64_t>(given->size, sizeof all));
  return all;
}

/// A list of `count` texts. Error: InvalidArgument.
Result<std::vector<std::string>> texts_of(const char* const* list, std::uint32_t count, const std::string& what);

}  // namespace penstock::abi
