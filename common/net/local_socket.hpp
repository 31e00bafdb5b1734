// Sockets between processes of one host, without a file.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/host/descriptor.hpp"

namespace penstock {

/// A stream socket of the Unix family with an abstract name: it is gone with its process, however that ends, and only
/// processes of the same network namespace can find it. The name is a random number, never used twice, so it always
/// leads to the incarnation that has announced it.
struct LocalListener {
  Descriptor socket;
  std::uint64_t name = 0;
};
/// Non-blocking, as all sockets here. Errors: ResourceExhausted, Unsupported.
Result<LocalListener> listen_locally();
/// Accepts the next waiting connection, if a process of `user` has made it; others are silently closed. Errors:
/// WrongState if none waits, ResourceExhausted if there is no descriptor for it.
Result<Descriptor> accept_local(const Descriptor& listener, std::uint32_t user);
/// Errors: Unreachable if no process of `user` listens there, or it is too busy; ResourceExhausted.
Result<Descriptor> connect_local(std::uint64_t name, std::uint32_t user);
/// The effective user of this process.
std::uint32_t present_user();

/// False if the socket still takes nothing after `longest`.
bool wait_until_writable(const Descriptor& socket, Duration longest);
/// Both sides read the end from now on, even if another process has a descriptor of the socket.
void hang_up(const Descriptor& socket);

}  // namespace penstock
