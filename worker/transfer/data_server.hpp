// Answers requests for data out of a store.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/result.hpp"
#include "common/runtime/connection.hpp"
#include "common/runtime/loop.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/compression_choice.hpp"

namespace penstock::worker {

/// Lives on its loop's thread. What is on disk is read there by the store's thread, and kept only while it is sent.
class DataServer {
 public:
  /// `visitors_max` connections are served; further ones are closed at once. `packing` says what is compressed for
  /// those who ask for it. Errors: AddressInUse, InvalidArgument.
  static Result<std::unique_ptr<DataServer>> open(Loop& loop, const HostPort& address, ObjectStore& store,
                                                  Packing packing = Packing::WherePays,
                                                  std::size_t visitors_max = 1024);
  ~DataServer();
  std::uint16_t port() const;

 private:
  struct State;
  explicit DataServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
