// New memory is made ready on a thread of its own, ahead of the bytes that come for it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// The kernel clears and maps each page of new memory when it is touched first, which costs whoever receives a datum as
/// much as the datum itself. Here another thread touches pages, a step at a time, while the datum comes. It changes no byte, and may be too late or not there at all: then it is as if there were none.
///
/// Any thread may call `warm`.
class PageWarmer {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{8} << 20U;  ///< For a smaller datum waking a thread costs more.

  PageWarmer() = default;
  ~PageWarmer();
  PageWarmer(const PageWarmer&) = delete;
  PageWarmer& operator=(const PageWarmer&) = delete;

  /// The bytes from `from` to `to`. Ignored if the datum is small. Ends when nobody else has it.
  void warm(const std::shared_ptr<Blob>& blob, std::size_t from, std::size_t to);

 private:
  struct Cold {
    std::weak_ptr<Blob> blob;
    std::size_t from;
    std::size_t to;
  };
  void run();

  std::mutex mutex_;  ///< Guards the rest, but for the thread itself, which the first `warm` starts.
  std::condition_variable changed_;
  std::deque<Cold> cold_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace penstock::worker
