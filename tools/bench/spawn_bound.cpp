#include "tools/bench/spawn_bound.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "common/host/clock.hpp"

namespace penstock::tools {
namespace {

int spawn_one(const std::string& program) {
  std::string name = program;
  char* arguments[] = {name.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t process = 0;
  if (const int error = ::posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, environment); error != 0)
    return error;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return 0;
}

}  // namespace

Result<double> spawn_bound_per_s(const std::string& program, std::uint32_t slots, std::uint32_t count) {
  // The next number and the first error are all that the threads share.
  std::atomic<std::uint32_t> next{0};  // tidy: allow call: see above
  std::atomic<int> failure{0};
  const Instant begin = monotonic_now();
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < slots; ++i)
    threads.emplace_back([&] {
      while (next.fetch_add(1) < count && failure.load() == 0)
        if (const int error = spawn_one(program); error != 0) failure.store(error);
    });
  for (std::thread& thread : threads) thread.join();
  if (failure.load() != 0)
    return Error{
        ErrorCode::ProgramNotFound, program, "cannot be started: " + std::string{std::strerror(failure.load())}, {}};
  return count / std::chrono::duration<double>(monotonic_now() - begin).count();
}

}  // namespace penstock::tools
