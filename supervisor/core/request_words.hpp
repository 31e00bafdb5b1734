// The words of an operator's request. Private to this folder.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>

#include "common/base/result.hpp"
#include "common/protocol/client.hpp"

namespace penstock::supervisor {

inline Error not_found(const std::string& what, const std::string& remedy) {
  return {ErrorCode::NotFound, what, "is not known", remedy};
}

inline Error bad_argument(const std::string& subject, const std::string& message) {
  return {ErrorCode::InvalidArgument, subject, message, "see `penstock --help`"};
}

template <class Number>
bool parse(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Value of `--name=value` among the arguments, or empty.
inline std::string option(const AdminRequest& request, const std::string& name) {
  const std::string prefix = "--" + name + "=";
  for (const std::string& argument : request.arguments)
    if (argument.starts_with(prefix)) return argument.substr(prefix.size());
  return {};
}

inline bool has_flag(const AdminRequest& request, const std::string& name) {
  return std::find(request.arguments.begin(), request.arguments.end(), "--" + name) != request.arguments.end();
}

/// The `position`th argument that is no option, or empty.
inline std::string operand(const AdminRequest& request, std::size_t position) {
  for (const std::string& argument : request.arguments)
    if (!argument.starts_with("--") && position-- == 0) return argument;
  return {};
}

/// Whether the command changes something; all others only ask.
inline bool is_order(const std::string& command) {
  return command == "cancel" || command == "priority" || command == "drain" || command == "undrain" ||
         command == "set" || command == "hold" || command == "release" || command == "move" || command == "reload" ||
         command == "keep" || command == "unkeep" || command == "rerun";
}

/// The order as it was typed: without the number by which a client repeats it.
inline std::string words_of_order(const AdminRequest& request) {
  std::string words = request.command;
  for (const std::string& argument : request.arguments)
    if (!argument.starts_with("--submission=")) words += " " + argument;
  return words;
}

}  // namespace penstock::supervisor
