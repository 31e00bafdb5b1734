#include "cli/commands/state_place.hpp"

#include <unistd.h>

#include <filesystem>

#include "common/host/process.hpp"

namespace penstock::cli {

StateSurroundings own_state_surroundings() {
  return {environment_value("STATE_DIRECTORY"), environment_value("XDG_STATE_HOME"), environment_value("HOME"),
          ::geteuid() == 0};
}

Result<std::string> default_state_directory(const StateSurroundings& surroundings) {
  // A service with several directories names them with colons between.
  const std::string of_service = surroundings.state_directory.substr(0, surroundings.state_directory.find(':'));
  if (of_service.starts_with('/')) return of_service;
  constexpr const char* kOurs = "/penstock/supervisor";
  if (surroundings.xdg_state_home.starts_with('/')) return surroundings.xdg_state_home + kOurs;
  if (surroundings.home.starts_with('/')) return surroundings.home + "/.local/state" + kOurs;
  if (surroundings.is_root) return std::string{"/var/lib/penstock"};
  return Error{ErrorCode::InvalidArgument, "--state", "is not given, and there is no HOME to keep jobs in",
               "name a directory with `--state`, or say `--no-state` if nothing need outlive this process"};
}

std::string authority_directory_in(const std::string& state) { return state + "/authority"; }
std::string audit_directory_in(const std::string& state) { return state + "/audit"; }

Result<void> make_state_directory(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code code;
  const bool made = fs::create_directories(directory, code);
  if (!code && made) fs::permissions(directory, fs::perms::owner_all, code);
  if (code)
    return Error{ErrorCode::InvalidArgument, directory, "cannot be made: " + code.message(),
                 "name another directory with `--state`, or say `--no-state` if nothing need outlive this process"};
  return {};
}

}  // namespace penstock::cli
