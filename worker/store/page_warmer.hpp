// Prefaults new memory on a thread of its own, ahead of the bytes that will fill it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// The kernel clears and maps each page of new memory at its first touch, which costs the receiver of a datum as much
/// as the datum itself. This thread touches the pages, a step at a time, while the datum arrives. No byte is changed;
/// if the thread is late or missing, the receiver takes the page faults itself.
///
/// Any thread may call `warm`.
class PageWarmer {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{8} << 20U;  ///< For a smaller datum waking a thread costs more.

  PageWarmer() = default;
  ~PageWarmer();
  PageWarmer(const PageWarmer&) = delete;
  PageWarmer& operator=(const PageWarmer&) = delete;

  /// Touches the bytes from `from` to `to`. A small datum, and memory that was used before, are ignored.
  /// Ends early when no other reference to the blob is left.
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
