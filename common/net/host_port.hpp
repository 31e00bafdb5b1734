// Addresses of processes.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.hpp"

namespace penstock {

/// An address to listen on or connect to.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  std::string file;         ///< Not empty: this file holds the address, and is read again for each attempt to connect.
  std::uint64_t local = 0;  ///< Not 0: name of a socket within this host, of the same user; see `listen_locally`.
  friend bool operator==(const HostPort&, const HostPort&) = default;
};
/// Reads `host:port`, `[v6]:port`, `port`, or `local:` with the 16 digits of a local socket's name. Error:
/// InvalidArgument.
Result<HostPort> parse_host_port(const std::string& text, const std::string& default_host);
/// The same, or `@FILE`: a supervisor writes its address there (`--address-file`), and may move to another one.
Result<HostPort> parse_supervisor_address(const std::string& text, const std::string& default_host);
/// The address itself, or the one that its file holds now. Error: Unreachable.
Result<HostPort> look_up(const HostPort& address);
std::string to_string(const HostPort& address);

}  // namespace penstock
