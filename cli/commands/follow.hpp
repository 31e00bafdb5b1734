// Waits for a job on behalf of a person: with progress, and with a way to stop it.
#pragma once

#include "cli/commands/command.hpp"

namespace penstock::cli {

/// Shows the progress of a job on standard error until it has ended, and the reason of a standstill. The first stop
/// signal cancels the job if `cancel_on_signal`, otherwise it ends the wait (then the view says that the job is still
/// running); the second one always ends it. Errors: TimedOut, Disconnected.
struct FollowOptions {
  JobId job;
  std::string name;            ///< Of the job, for the progress.
  std::uint64_t subtasks = 0;  ///< Of the job, if known.
  Duration running_for{};      ///< Before the wait began.
  bool quiet = false;
  bool cancel_on_signal = false;
  Duration timeout = Duration::max();
};
Result<client::JobView> follow(client::Session& session, StopSignals& stop_signals, const FollowOptions& options);

/// The exit code that tells how a job ended.
int exit_code_of(const client::JobView& view);

}  // namespace penstock::cli
