#include "common/base/error_code_of.hpp"

namespace penstock {

std::optional<ErrorCode> error_code_of(std::uint16_t number) {
  const ErrorCode code{number};
  return number == 0 || to_string(code) == to_string(ErrorCode{0}) ? std::nullopt : std::optional{code};
}

std::optional<ErrorCode> error_code_of(std::string_view name) {
  for (std::uint16_t number = 1; error_code_of(number); ++number)
    if (to_string(ErrorCode{number}) == name) return ErrorCode{number};
  return std::nullopt;
}

}  // namespace penstock
