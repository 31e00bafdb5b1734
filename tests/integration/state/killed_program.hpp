// A program that is killed just before it changes a file, at whichever of its changes a test wants.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct KilledProgram {
  std::string program;
  std::vector<std::string> arguments;
  std::string files;     ///< Only changes of files with this in their paths are counted.
  std::string errors{};  ///< The file of its standard error; empty: none.
  std::string until{};   ///< The program counts as ended when this file is there; empty: when it ends.
};

struct KilledRun {
  bool was_killed = false;  ///< False: the program has ended before it came to that change.
  int exit_code = -1;
  std::string before{};  ///< The system call that was not made any more, and its path where it has one.
};

/// Runs the program with all its threads until it is about to make change number `change`, the first is 0, and ends it
/// there with SIGKILL. The program is gone when this returns. A change is a system call that makes, renames, links,
/// cuts, writes or removes a file or a directory.
KilledRun run_until_change(const KilledProgram& wanted, std::uint64_t change);

/// Whether this machine lets a process trace its own children.
bool can_trace();

}  // namespace penstock
