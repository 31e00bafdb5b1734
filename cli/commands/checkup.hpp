// Looks for what commonly keeps a host from taking part in a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/security/certificate.hpp"

namespace penstock::cli {

/// One thing that was looked at.
struct Finding {
  enum class Level : std::uint8_t { Good, Warning, Bad };
  std::string check;
  Level level = Level::Good;
  std::string text;
  std::string remedy;  ///< Empty if nothing need be done.
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// A directory that only its owner may read: of keys, of the state. One that is not there is good.
Finding check_private_place(const std::string& check, const std::string& path);
/// Each credential of this user below that directory.
std::vector<Finding> check_credentials(const std::string& config_directory, CalendarTime now);
/// Whether the kernel knows that its clock is kept right: certificates are valid by it.
Finding check_clock();
Finding check_open_files();
/// Room for data that processes share.
Finding check_shared_memory(const std::string& path = "/dev/shm");
/// The memory and processors that control groups leave.
Finding check_control_groups();

}  // namespace penstock::cli
