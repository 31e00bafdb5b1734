// Accepts connections within a host.
#pragma once

#include <functional>
#include <memory>

#include "common/base/result.hpp"
#include "common/host/descriptor.hpp"
#include "common/loop/loop.hpp"

namespace penstock {

/// Listens at an abstract name, see `listen_locally`, and accepts processes of this user only. Lives on its loop's
/// thread; destroying it ends the listening, also inside `on_socket`.
class LocalAcceptor {
 public:
  using OnSocket = std::function<void(Descriptor)>;

  /// Errors: as of `listen_locally`.
  static Result<std::unique_ptr<LocalAcceptor>> open(Loop& loop, OnSocket on_socket);
  ~LocalAcceptor();
  LocalAcceptor(const LocalAcceptor&) = delete;
  LocalAcceptor& operator=(const LocalAcceptor&) = delete;

  /// For `connect_local`.
  std::uint64_t name() const;

 private:
  struct State;
  explicit LocalAcceptor(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock
