#include "common/runtime/host.hpp"

#include <pwd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

#include "common/runtime/clock.hpp"

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

void step_back() {
  constexpr int kNice = 10;
  // Of a thread, not of the process, whatever POSIX says: setpriority(2), "Linux". It cannot fail when it is raised.
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice));  // tidy: foreign
}

}  // namespace penstock
