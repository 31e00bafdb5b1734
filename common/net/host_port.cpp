#include "common/net/host_port.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>

namespace penstock {

Result<HostPort> parse_host_port(const std::string& text, const std::string& default_host) {
  const auto wrong = [&](const char* why) {
    return Error{ErrorCode::InvalidArgument, text, std::string{"is no address: "} + why,
                 "write host:port, e.g. 127.0.0.1:7465"};
  };
  if (text.find("://") != std::string::npos) return wrong("it has a scheme");
  HostPort address{default_host, 0};
  if (constexpr std::string_view kLocal = "local:"; text.starts_with(kLocal) && text.size() == kLocal.size() + 16) {
    const auto [end, error] =
        std::from_chars(text.data() + kLocal.size(), text.data() + text.size(), address.local, 16);
    if (error != std::errc{} || end != text.data() + text.size() || address.local == 0)
      return wrong("the name of its local socket is no hexadecimal number");
    address.host.clear();
    return address;
  }
  std::string port = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    address.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (address.host.size() >= 2 && address.host.front() == '[' && address.host.back() == ']')
      address.host = address.host.substr(1, address.host.size() - 2);
    if (address.host.empty()) return wrong("the host is missing");
  }
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size()) return wrong("the port is no number");
  if (number > 65535) return wrong("the port is above 65535");
  address.port = static_cast<std::uint16_t>(number);
  return address;
}

Result<HostPort> parse_supervisor_address(const std::string& text, const std::string& default_host) {
  if (!text.starts_with('@')) return parse_host_port(text, default_host);
  if (text.size() == 1)
    return Error{ErrorCode::InvalidArgument, text, "names no file", "write @FILE, as in `--address-file FILE`"};
  return HostPort{"", 0, text.substr(1)};
}

Result<HostPort> look_up(const HostPort& address) {
  if (address.file.empty()) return address;
  std::ifstream file{address.file};
  std::string line;
  std::getline(file, line);
  if (line.empty())
    return Error{ErrorCode::Unreachable, address.file, "has no address of a supervisor",
                 "start the supervisor with `--address-file " + address.file + "`"};
  Result<HostPort> found = parse_host_port(line, "127.0.0.1");
  if (!found) return Error{ErrorCode::Unreachable, address.file, "has no address: " + to_string(found.error()), {}};
  return found;
}

std::string to_string(const HostPort& address) {
  if (!address.file.empty()) return "@" + address.file;
  if (address.local != 0) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "local:%016llx", static_cast<unsigned long long>(address.local));
    return text.data();
  }
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace penstock
