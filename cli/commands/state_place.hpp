// The default directory of a supervisor's state.
#pragma once

#include <string>

#include "common/base/result.hpp"

namespace penstock::cli {

/// The inputs of the decision; an empty text means that a variable is not set.
struct StateSurroundings {
  std::string state_directory;  ///< STATE_DIRECTORY: systemd's, from `StateDirectory=` of the service.
  std::string xdg_state_home;   ///< XDG_STATE_HOME
  std::string home;             ///< HOME
  bool is_root = false;
};

/// The values of this process.
StateSurroundings own_state_surroundings();

/// The service's directory, else `penstock/supervisor` in the user's place for state (XDG base directories), else
/// `/var/lib/penstock` for root. Error: InvalidArgument, when there is none of them. Variables that are no absolute
/// paths are ignored, as the XDG specification requires.
Result<std::string> default_state_directory(const StateSurroundings& surroundings);

/// Makes the directory, for its owner alone: graphs contain the data of users. An existing directory stays as it is.
/// Error: InvalidArgument.
Result<void> make_state_directory(const std::string& directory);

/// The directory of the authority of a supervisor with that state.
std::string authority_directory_in(const std::string& state);
/// The directory of the audit in a state.
std::string audit_directory_in(const std::string& state);

}  // namespace penstock::cli
