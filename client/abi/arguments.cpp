#include "client/abi/arguments.hpp"

#include <exception>
#include <limits>
#include <new>

namespace penstock::abi {

Error caught() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    return {ErrorCode::ResourceExhausted, "this process", "there is no memory for this call", {}};
  } catch (const std::exception& exception) {
    return {ErrorCode::Internal, "libpenstock", exception.what(), "please report it"};
  } catch (...) {
    return {ErrorCode::Internal, "libpenstock", "something unknown was thrown", "please report it"};
  }
}

Result<JobId> job_of(const penstock_client* client, std::int64_t number) {
  if (client == nullptr) return is_null("client");
  if (number <= 0 || number >= std::numeric_limits<std::uint32_t>::max())
    return Error{ErrorCode::NotFound, "job " + std::to_string(number), "is no number of a job", {}};
  return JobId{static_cast<std::uint32_t>(number)};
}

Result<std::vector<std::string>> texts_of(const char* const* list, std::uint32_t count, const std::string& what) {
  if (count > 0 && list == nullptr) return is_null(what);
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (list[i] == nullptr) return is_null(what + "[" + std::to_string(i) + "]");
    texts.emplace_back(list[i]);
  }
  return texts;
}

}  // namespace penstock::abi
