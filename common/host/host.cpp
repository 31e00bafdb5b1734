#include "common/host/host.hpp"

#include <malloc.h>
#include <pwd.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include "common/host/cgroup.hpp"
#include "common/host/clock.hpp"

namespace penstock {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "unknown-host";
}

std::string user_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> texts{};
  if (getpwuid_r(geteuid(), &entry, texts.data(), texts.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return std::to_string(geteuid());
}

bool is_root() { return geteuid() == 0; }

std::uint64_t process_id() { return static_cast<std::uint64_t>(getpid()); }

Incarnation random_incarnation() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    number = mix_bits(process_id() ^ static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()));
  return Incarnation{number == ~std::uint64_t{0} ? 1 : number};
}

JobIdentity random_identity() {
  JobIdentity identity;
  if (getrandom(&identity, sizeof identity, 0) != sizeof identity)
    identity = {random_incarnation().value(), random_incarnation().value()};
  return identity.valid() ? identity : JobIdentity{1, 1};
}

ProcessUsage process_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  return {us(usage.ru_utime) + us(usage.ru_stime), std::int64_t{usage.ru_maxrss} * 1024};
}

namespace {

/// Memory of this process that counts towards the limit `resource` now.
std::int64_t taken_of(int resource) {
  // proc(5): pages of size, resident, shared, text, lib, data.
  std::ifstream file{"/proc/self/statm"};
  std::array<std::int64_t, 6> pages{};
  for (std::int64_t& each : pages) file >> each;
  return (resource == RLIMIT_AS ? pages[0] : pages[5]) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

unsigned usable_processors() {
  unsigned usable = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t bound;
  if (::sched_getaffinity(0, sizeof bound, &bound) == 0) usable = static_cast<unsigned>(CPU_COUNT(&bound));
  if (const std::optional<MilliCpu> quota = read_cgroup_limits().cpu)
    usable = static_cast<unsigned>(std::min<std::int64_t>(usable, (quota->value() + 999) / 1000));
  return std::max(1U, usable);
}

MemoryBounds read_memory_bounds() {
  MemoryBounds bounds;
  bounds.host = Bytes{std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)};
  bounds.group = read_cgroup_limits().memory;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const auto allowed = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
    const Bytes bytes{std::max<std::int64_t>(0, allowed - taken_of(resource))};
    bounds.process = bounds.process ? std::min(*bounds.process, bytes) : bytes;
  }
  return bounds;
}

void set_up_allocator() {
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kOwnPagesFrom.value()));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(kSpareHeapMax.value()));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

void step_back() {
  constexpr int kNice = 10;
  // The value belongs to the thread, not to the process, despite POSIX: setpriority(2), "Linux". Raising it cannot
  // fail.
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice));  // tidy: foreign
}

}  // namespace penstock
