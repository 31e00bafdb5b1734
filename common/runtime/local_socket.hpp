// Sockets between processes of one host that have no file.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/runtime/descriptor.hpp"

namespace penstock {

/// A stream socket of the Unix family with an abstract name: one that is gone with its process, whatever ends that, and
/// that only processes of the same network namespace can find. The name is a random number, never used twice: whoever
/// reaches it reaches the very life that has told it.
struct LocalListener {
  Descriptor socket;
  std::uint64_t name = 0;
};
/// Non-blocking, as all sockets here. Errors: ResourceExhausted, Unsupported.
Result<LocalListener> listen_locally();
/// The next one that waits, if a process of `user` has made it; others are closed, without a word. Errors: WrongState
/// if nobody waits, ResourceExhausted if there is no descriptor for it.
Result<Descriptor> accept_local(const Descriptor& listener, std::uint32_t user);
/// Errors: Unreachable if nobody of `user` listens there, or is too busy; ResourceExhausted.
Result<Descriptor> connect_local(std::uint64_t name, std::uint32_t user);
/// On whose behalf this process acts (its effective user).
std::uint32_t present_user();

/// False if it would still not take anything after this.
bool wait_until_writable(const Descriptor& socket, Duration longest);
/// Both sides read the end from now on, whoever else has a descriptor of it.
void hang_up(const Descriptor& socket);

}  // namespace penstock
