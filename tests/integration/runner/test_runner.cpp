// A runner for tests, written against penstock.h as any other language would be: does what the payload says.
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "client/include/penstock/penstock.h"

namespace {

std::string text_of(const penstock_bytes& bytes) { return {static_cast<const char*>(bytes.data), bytes.size}; }

volatile sig_atomic_t interrupted = 0;
std::string at_the_end;  ///< File that it writes when it is needed no longer; `never`: it does not end.
void note(int) { interrupted = 1; }

/// Waits for the signal; what a long computation does that looks now and then.
void wait_for_interrupt() {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  while (interrupted == 0) sigsuspend(&before);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

/// Returns when the daemon has written its number into the file. The daemon keeps all that is open here.
int leave_daemon(penstock_runner* runner, const std::string& file) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return penstock_runner_fail(runner, "no pipe", nullptr, 0);
  if (::fork() == 0) {  // tidy: allow call: as a library of the user does
    ::setsid();
    if (::fork() != 0) ::_exit(0);  // tidy: allow call: the same
    std::ofstream{file} << ::getpid() << std::endl;
    static_cast<void>(::write(ends[1], "d", 1) == 1);
    for (;;) ::pause();
  }
  char done = 0;
  static_cast<void>(::read(ends[0], &done, 1) == 1);
  return penstock_runner_succeed(runner);
}

int say_where(penstock_runner* runner) {
  char directory[4096];
  const char* word = ::getenv("TEST_RUNNER_WORD");  // tidy: allow call: what it is asked about
  const std::string said = std::string{::getcwd(directory, sizeof directory)} + " " + (word != nullptr ? word : "");
  return penstock_runner_succeed_with(runner, said.data(), said.size());
}

int say_attempt(penstock_runner* runner, const penstock_run& run) {
  const std::string said =
      std::to_string(run.attempt) + " " + std::to_string(run.attempt_number) + " " + run.attempt_id;
  return penstock_runner_succeed_with(runner, said.data(), said.size());
}

int come_back_twice(penstock_runner* runner) {
  const bool child = ::fork() == 0;  // tidy: allow call: as a library of the user does
  const int told = penstock_runner_succeed_with(runner, "forked", 6);
  if (child) ::_exit(told == 0 ? 0 : 1);
  return told;
}

/// The file is there once it has said what it was not asked for.
int chatter(penstock_runner* runner, const std::string& file) {
  const int told = penstock_runner_succeed_with(runner, "chatter", 7);
  penstock_runner_close(penstock_runner_open(::dup(0), "test", "1"));
  std::ofstream{file} << "said" << std::endl;
  return told;
}

/// The file is there once it has said what nobody understands, or, as `stammer`, has begun what is no end.
int babble(penstock_runner* runner, const std::string& how, const std::string& file) {
  const int told = penstock_runner_succeed_with(runner, how.data(), how.size());
  const std::string rubbish = how == "stammer" ? "PNSR" : std::string(64, '\xff');
  static_cast<void>(::write(0, rubbish.data(), rubbish.size()) > 0);
  std::ofstream{file} << "said" << std::endl;
  return told;
}

/// Says that it has begun, and lends its slot while it waits for a file that says something; says what that is. With
/// `twice`, asks too often; with `want`, waits for its slot until it is interrupted. Its inputs are told behind it.
int yield(penstock_runner* runner, const penstock_run& run, const std::string& file, const std::string& how) {
  const std::string before = penstock_runner_take_slot_back(runner) == 0 ? "0" : penstock_last_error().name;
  if (penstock_runner_yield_slot(runner) != 0)
    return penstock_runner_fail(runner, penstock_last_error().message, nullptr, 0);
  const std::string twice = penstock_runner_yield_slot(runner) == 0 ? "0" : penstock_last_error().name;
  std::ofstream{file + ".begun"} << "begun" << std::endl;
  std::string said;
  while (interrupted == 0 && !(std::ifstream{file} >> said)) ::sched_yield();
  if (how == "want") std::ofstream{file + ".wants"} << "wants" << std::endl;
  int answer = -2;
  while (answer == -2) answer = penstock_runner_take_slot_back(runner);
  if (answer != 0) return penstock_runner_fail(runner, penstock_last_error().name, nullptr, 0);
  if (how == "twice") said += " " + before + " " + twice;
  for (std::uint32_t i = 0; i < run.input_count; ++i) said += ";" + text_of(run.inputs[i]);
  return penstock_runner_succeed_with(runner, said.data(), said.size());
}

/// The file is there, whole, when the run has ended. A run that waits for the file has begun.
int tell(penstock_runner* runner, const std::string& file) {
  if (!std::ifstream{file + ".begun"}) return penstock_runner_fail(runner, "nobody waits for it", nullptr, 0);
  std::ofstream{file + ".new"} << "told" << std::endl;
  if (::rename((file + ".new").c_str(), file.c_str()) != 0) return penstock_runner_fail(runner, "no file", nullptr, 0);
  return penstock_runner_succeed_with(runner, "told it", 7);
}

int wait_or_tell(penstock_runner* runner, const penstock_run& run, const std::string& what, std::istream& words) {
  std::string path;
  std::string how;
  words >> path >> how;
  return what == "tell" ? tell(runner, path) : yield(runner, run, path, how);
}

/// Fails for good, by a code.
int refuse(penstock_runner* runner, const std::string& code) {
  return penstock_runner_fail_as(runner, code.c_str(), "it never will", nullptr, 0);
}

/// Fails with so many bytes of words, and as many of detail.
int boast(penstock_runner* runner, std::size_t size) {
  const std::string much(size, 'b');
  return penstock_runner_fail(runner, much.c_str(), much.data(), much.size());
}

int run_one(penstock_runner* runner, const penstock_run& run) {
  std::istringstream words{text_of(run.payload)};
  std::string what;
  words >> what;
  if (what == "say") {
    const std::string said = text_of(run.program_content) + std::to_string(::getpid());
    return penstock_runner_succeed_with(runner, said.data(), said.size());
  }
  if (what == "end" && words >> at_the_end) return penstock_runner_succeed(runner);
  if (what == "fork") return come_back_twice(runner);
  if (what == "chatter") return chatter(runner, text_of(run.payload).substr(8));
  if (what == "babble" || what == "stammer") return babble(runner, what, text_of(run.payload).substr(what.size() + 1));
  if (what == "where") return say_where(runner);
  if (what == "tell" || what == "yield") return wait_or_tell(runner, run, what, words);
  if (what == "attempt") return say_attempt(runner, run);
  if (what == "join") {
    std::string all;
    for (std::uint32_t i = 0; i < run.input_count; ++i) all += text_of(run.inputs[i]) + ";";
    return penstock_runner_succeed_with(runner, all.data(), all.size());
  }
  if (what == "fill") {
    std::size_t size = 0;
    words >> size;
    void* out = penstock_runner_output(runner, 0, size);
    if (out == nullptr) return penstock_runner_fail(runner, penstock_last_error().message, nullptr, 0);
    ::memset(out, 'x', size);
    return penstock_runner_succeed(runner);
  }
  if (what == "fail") return penstock_runner_fail(runner, "it does not work", "opaque", 6);
  if (what == "refuse") return refuse(runner, text_of(run.payload).substr(7));
  std::size_t size = 0;
  if (what == "boast" && words >> size) return boast(runner, size);
  if (what == "write") {
    std::cerr << "before the end" << std::endl;
    return penstock_runner_fail(runner, "wrote something", nullptr, 0);
  }
  if (what == "daemon") return leave_daemon(runner, text_of(run.payload).substr(7));
  if (what == "exit") {
    std::cerr << "leaving" << std::endl;
    ::_exit(7);
  }
  if (what == "crash") {
    ::signal(SIGSEGV, SIG_DFL);  // Sanitizers would make an exit of it.
    ::raise(SIGSEGV);
  }
  if (what == "garbage") return ::write(0, std::string(64, 'g').data(), 64) > 0 ? 1 : 0;
  if (what == "wait") {
    wait_for_interrupt();
    interrupted = 0;
    return penstock_runner_fail(runner, "was interrupted", nullptr, 0);
  }
  if (what == "hang") {
    std::string file;  // Is there once it hangs.
    if (words >> file) std::ofstream{file} << "hangs" << std::endl;
    ::signal(SIGINT, SIG_IGN);
    for (;;) ::pause();
  }
  if (what == "use") {
    std::vector<char> much(std::size_t{256} << 20U, 'm');
    const char last = much.back();
    much = {};
    return penstock_runner_succeed_with(runner, &last, 1);
  }
  if (what == "eat") {
    std::vector<char> much(std::size_t{256} << 20U, 'm');
    wait_for_interrupt();
    return penstock_runner_succeed_with(runner, much.data(), 1);
  }
  return penstock_runner_fail(runner, "what?", nullptr, 0);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string how = count > 1 ? arguments[1] : "";
  if (how == "no-hello") return 3;
  if (how == "mute") ::pause();
  struct sigaction action {};
  action.sa_handler = note;
  ::sigaction(SIGINT, &action, nullptr);
  penstock_runner* runner = penstock_runner_open(0, "test", "1");
  if (runner == nullptr) return 2;
  penstock_run run{};
  run.size = sizeof run;
  for (;;) {
    const int answer = penstock_runner_next(runner, &run);
    if (answer == -2) continue;
    if (answer != 1) break;
    interrupted = 0;
    run_one(runner, run);
  }
  penstock_runner_close(runner);
  if (at_the_end == "never") ::pause();
  if (!at_the_end.empty()) std::ofstream{at_the_end} << "ended";
  return 0;
}
