// Threads that compute the handshakes of new connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace penstock {

/// A handshake takes some 1 ms of a processor: on the loop's thread, workers that come back all at once would keep the
/// others' heartbeats waiting. Handshakes that have begun go on before others begin, and the latest begins first: in
/// order of arrival all would be late together when more come than can be computed in time. Any thread may use it;
/// destruction waits for the steps that are being computed, and drops those that wait.
class HandshakePool {
 public:
  enum class Step : std::uint8_t { First, Further };  ///< Of a handshake.
  /// `steps_max`: first steps that may wait for a thread. Each connection has one step that waits.
  HandshakePool(std::size_t threads, std::size_t steps_max);
  ~HandshakePool();
  HandshakePool(const HandshakePool&) = delete;
  HandshakePool& operator=(const HandshakePool&) = delete;

  /// False: too many wait, or the pool has stopped, and this one is not taken.
  bool run(Step kind, std::function<void()> step);
  /// As destruction does; no step is taken from then on. To be called before the loops end that the steps post to.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
