#include "client/abi/memory_peak.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace penstock::abi {
namespace {

/// `VmHWM:     1234 kB` of /proc/self/status; see proc(5).
std::uint64_t high_water_mark(const Descriptor& status) {
  std::array<char, 4096> text;
  const ssize_t size = status ? ::pread(status.get(), text.data(), text.size(), 0) : -1;
  if (size <= 0) return 0;
  const std::string_view all{text.data(), static_cast<std::size_t>(size)};
  constexpr std::string_view kName = "VmHWM:";
  const std::size_t name = all.find(kName);
  if (name == std::string_view::npos) return 0;
  const std::size_t digits = all.find_first_not_of(" \t", name + kName.size());
  if (digits == std::string_view::npos) return 0;
  std::uint64_t kibibytes = 0;
  std::from_chars(all.data() + digits, all.data() + all.size(), kibibytes);
  return kibibytes << 10U;
}

}  // namespace

MemoryPeak::MemoryPeak()
    : status_(::open("/proc/self/status", O_RDONLY | O_CLOEXEC)),
      restart_(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC)) {}

std::uint64_t MemoryPeak::take(Instant now) {
  if (now - restarted_ < kWindow) return 0;
  const std::uint64_t peak = high_water_mark(status_);
  // "5" resets the mark to the resident size. If that is refused, the mark covers the process's whole lifetime.
  if (restart_ && ::pwrite(restart_.get(), "5", 1, 0) != 1) restart_.close();
  restarted_ = now;
  return peak;
}

}  // namespace penstock::abi
