#include "tests/integration/cli/terminal_session.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>  // tidy: allow arrows: forkpty, which POSIX has only in parts
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "common/host/clock.hpp"
#include "common/host/process.hpp"

namespace penstock {
namespace {

constexpr Duration kPatience = std::chrono::seconds{20};
constexpr int kLookMs = 50;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

TerminalSession::TerminalSession(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment) {
  // All memory is taken before the fork: between it and exec only calls that are safe after it.
  std::vector<std::string> words{"penstock"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  variables.emplace_back("TERM=xterm");
  for (std::string& variable : own_environment()) variables.push_back(std::move(variable));
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(variables);
  winsize size{};
  size.ws_row = 25;
  size.ws_col = 120;
  int terminal = -1;
  process_ = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (process_ == 0) {
    ::execve(PENSTOCK_BINARY, argv.data(), envp.data());
    ::_exit(127);
  }
  EXPECT_GT(process_, 0);
  terminal_ = Descriptor{terminal};
}

TerminalSession::~TerminalSession() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void TerminalSession::type(const std::string& keys) const {
  EXPECT_EQ(::write(terminal_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool TerminalSession::read_more(int patience_ms) {
  pollfd ready{terminal_.get(), POLLIN, 0};
  if (::poll(&ready, 1, patience_ms) <= 0) return false;
  std::array<char, 4096> part{};
  const ssize_t count = ::read(terminal_.get(), part.data(), part.size());
  if (count <= 0) return false;
  screen_.append(part.data(), static_cast<std::size_t>(count));
  return true;
}

bool TerminalSession::sees(const std::string& text) {
  const Instant end = monotonic_now() + kPatience;
  for (;;) {
    if (const std::size_t at = screen_.find(text, seen_); at != std::string::npos) {
      seen_ = at + text.size();
      return true;
    }
    if (monotonic_now() > end) return false;
    read_more(kLookMs);
  }
}

int TerminalSession::wait() {
  const Instant end = monotonic_now() + kPatience;
  int status = 0;
  while (::waitpid(process_, &status, WNOHANG) == 0) {
    if (monotonic_now() > end) return -1;
    read_more(kLookMs);
  }
  while (read_more(0)) continue;
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace penstock
