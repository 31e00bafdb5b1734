// Fetches handles of data from desks of this host, and maps them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "common/base/time.hpp"
#include "common/loop/loop.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/transfer_format.hpp"

namespace penstock::worker {

/// The purpose of a mapping.
enum class MappedFor : std::uint8_t {
  Store,   ///< Becomes a datum of a store here, which counts it and may hand it on. Its ticket goes back at once.
  Reader,  ///< Is only read, so it needs no descriptor; it counts at its worker until no reader is left.
};

/// One connection to each desk, kept while it lasts. Desks of other users are not trusted; of a handle the client
/// trusts only what the kernel reports: that it is sealed and large enough. After any failure the datum is fetched as a
/// copy.
///
/// Lives on its loop's thread. Mapped blobs outlive it, and may be released on any thread.
class HandleClient {
 public:
  /// A desk that does not answer for `wait_max` is given up.
  HandleClient(Loop& loop, MappedFor whom, Duration wait_max);
  ~HandleClient();
  HandleClient(const HandleClient&) = delete;
  HandleClient& operator=(const HandleClient&) = delete;

  /// Null: the datum has to be copied. Not called after the client is destroyed.
  using OnBlob = std::function<void(std::shared_ptr<Blob>)>;
  void fetch(const HandleOffer& offer, std::uint64_t bytes, OnBlob on_blob);

 private:
  struct Line;
  void end(const std::shared_ptr<Line>& line);
  void read_when_readable(const std::shared_ptr<Line>& line);
  void read(const std::shared_ptr<Line>& line);
  bool take(Line& line, std::vector<Descriptor> handles);
  std::shared_ptr<Blob> map(const Line& line, Descriptor handle, std::uint64_t bytes) const;
  void watch_first(const std::shared_ptr<Line>& line);

  Loop& loop_;
  const MappedFor whom_;
  const Duration wait_max_;
  std::map<std::uint64_t, std::shared_ptr<Line>> lines_;  ///< By desk.
};

}  // namespace penstock::worker
