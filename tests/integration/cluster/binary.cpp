#include "tests/integration/cluster/binary.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/host/clock.hpp"

namespace penstock {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};
constexpr Duration kLongest = std::chrono::seconds{60};

Descriptor open_for_writing(const std::string& path) {
  return Descriptor{::open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
}

}  // namespace

std::vector<std::string> environment_with_state_in(const ScratchDirectory& scratch) {
  // The first of a name counts.
  std::vector<std::string> environment{"XDG_STATE_HOME=" + scratch.path(), "STATE_DIRECTORY="};
  for (std::string& variable : own_environment()) environment.push_back(std::move(variable));
  return environment;
}

RunningBinary::RunningBinary(const BinaryCall& call) {
  const Descriptor input{::open(scratch_.write("input", call.input).c_str(), O_RDONLY | O_CLOEXEC)};
  const Descriptor output = open_for_writing(call.output.empty() ? scratch_.at("output") : call.output);
  const Descriptor errors = open_for_writing(scratch_.at("errors"));
  std::filesystem::create_directory(scratch_.at("here"));
  ProcessStart start;
  start.program = call.program.empty() ? PENSTOCK_BINARY : call.program;
  start.arguments = call.arguments;
  start.environment = call.environment;
  for (std::string& variable : environment_with_state_in(scratch_)) start.environment.push_back(std::move(variable));
  start.directory = call.directory.empty() ? scratch_.at("here") : call.directory;
  start.input = input.get();
  start.output = output.get();
  start.error = errors.get();
  Result<Process> process = Process::start(start);
  EXPECT_TRUE(process.has_value()) << start.program;
  process_ = std::make_unique<Process>(std::move(process).value());
}

RunningBinary::~RunningBinary() {
  if (process_ == nullptr) return;
  ProcessEnd end;
  process_->signal_group(SIGKILL);
  EXPECT_TRUE(process_->wait_for_end(kPatience) && process_->try_reap(end));
}

bool RunningBinary::wait_for_errors(const std::string& text) const {
  return wait_until([&] { return scratch_.read("errors").find(text) != std::string::npos; });
}

int RunningBinary::end_signal() {
  ProcessEnd end;
  EXPECT_TRUE(process_->wait_for_end(kPatience) && process_->try_reap(end)) << "it does not end";
  process_.reset();
  return end.signal;
}

BinaryRun RunningBinary::wait() {
  EXPECT_TRUE(process_->wait_for_end(kLongest)) << "it does not end";
  process_->signal_group(SIGKILL);
  ProcessEnd end;
  EXPECT_TRUE(process_->wait_for_end(kPatience) && process_->try_reap(end));
  process_.reset();
  return {end.exit_code, scratch_.read("output"), scratch_.read("errors")};
}

BinaryRun run_binary(const BinaryCall& call) { return RunningBinary{call}.wait(); }
BinaryRun run_binary(const std::vector<std::string>& arguments) {
  return run_binary(BinaryCall{arguments, {}, {}, {}});
}

bool wait_until(const std::function<bool()>& condition) {
  const Instant end = monotonic_now() + kPatience;
  while (!condition()) {
    if (monotonic_now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});  // tidy: allow call: other processes are waited for
  }
  return true;
}

}  // namespace penstock
