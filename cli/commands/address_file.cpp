#include "cli/commands/address_file.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace penstock::cli {

Result<void> announce_address(const std::string& path, const std::string& address) {
  if (path.empty()) return {};
  const std::string draft = path + ".new";
  std::ofstream file{draft};
  file << address << "\n";
  file.close();
  std::error_code error;
  if (file.good()) std::filesystem::rename(draft, path, error);
  if (!file.good() || error)
    return Error{ErrorCode::InvalidArgument, path, "cannot be written",
                 "give --address-file a path in a directory that exists"};
  return {};
}

}  // namespace penstock::cli
