#include "worker/store/page_warmer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace penstock::worker {
namespace {

constexpr std::size_t kStep = std::size_t{4} << 20U;

/// False if the kernel does not support it (before Linux 5.14), or the memory is no longer writable.
bool touch(std::byte* from, std::size_t bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));  // ARM also has 16 and 64 KiB.
  const auto begin = (reinterpret_cast<std::uintptr_t>(from) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(from) + bytes) / page * page;
  return begin >= end || madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0;
}

}  // namespace

PageWarmer::~PageWarmer() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void PageWarmer::warm(const std::shared_ptr<Blob>& blob, std::size_t from, std::size_t to) {
  if (blob->bytes().size() < kBytesMin || blob->is_reused()) return;
  const std::lock_guard lock{mutex_};
  if (!thread_.joinable()) try {
      thread_ = std::thread{[this] { run(); }};
    } catch (const std::system_error&) {
      return;  // Fault F33: the host has no threads left.
    }
  cold_.push_back({blob, from, std::min(to, blob->bytes().size())});
  changed_.notify_one();
}

void PageWarmer::run() {
  for (std::unique_lock lock{mutex_};;) {
    changed_.wait(lock, [this] { return ending_ || !cold_.empty(); });
    if (ending_) return;
    const Cold cold = std::move(cold_.front());
    cold_.pop_front();
    bool more = true;
    for (std::size_t at = cold.from; more && !ending_ && at < cold.to; at += kStep) {
      lock.unlock();
      // Held for one step only, so that a cancelled transfer frees its memory.
      if (const std::shared_ptr<Blob> blob = cold.blob.lock(); blob == nullptr)
        more = false;
      else
        more = touch(blob->data() + at, std::min(kStep, cold.to - at));
      lock.lock();
    }
  }
}

}  // namespace penstock::worker
