// The same bytes over plain sockets, as the measure of what a wire gives: no checks, no resuming, no data plane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace penstock::worker {

/// Sends the datum with the number that a connection asks for, on a thread for each connection. Ends with its process.
class RawHolder {
 public:
  using Find = std::function<std::span<const std::byte>(std::uint32_t number)>;

  /// Listens on the loopback from now on. `find` is called by any thread.
  explicit RawHolder(Find find);
  std::uint16_t port() const { return port_; }  ///< 0: it cannot listen.

 private:
  std::uint16_t port_ = 0;
};

/// Fetches `count` data of `bytes` each over so many connections, with a thread for each. `into` gives the memory for a
/// datum; null: the bytes go into one small buffer for each connection, again and again, and nothing is kept. False if
/// a connection fails.
bool fetch_raw(std::uint16_t port, std::uint32_t streams, std::uint32_t count, std::size_t bytes,
               const std::function<std::byte*(std::uint32_t number)>& into);

}  // namespace penstock::worker
