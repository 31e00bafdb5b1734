#include "worker/runner/command/command_line.hpp"

namespace penstock::worker {
namespace {

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

std::vector<std::string> split_arguments(std::string_view payload) {
  std::vector<std::string> arguments;
  while (!payload.empty()) {
    const std::size_t end = payload.find('\0');
    arguments.emplace_back(payload.substr(0, end));
    if (end == std::string_view::npos) break;
    payload.remove_prefix(end + 1);
  }
  return arguments;
}

void set_variables(std::vector<std::string>& environment, const std::vector<std::string>& additions) {
  for (const std::string& addition : additions) {
    bool known = false;
    for (std::string& entry : environment)
      if (name_of(entry) == name_of(addition)) {
        entry = addition;
        known = true;
        break;
      }
    if (!known) environment.push_back(addition);
  }
}

std::string variable_of(const std::vector<std::string>& environment, std::string_view name,
                        std::string_view otherwise) {
  for (const std::string& entry : environment)
    if (name_of(entry) == name && entry.size() > name.size()) return entry.substr(name.size() + 1);
  return std::string{otherwise};
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace penstock::worker
