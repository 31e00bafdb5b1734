#include "cli/follow.hpp"

#include <iostream>
#include <optional>

#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "common/runtime/clock.hpp"

namespace penstock::cli {
namespace {

/// Between two looks at signals and the screen. The end of the job is seen at once.
constexpr Duration kLook = std::chrono::milliseconds{50};

}  // namespace

Result<client::JobView> follow(client::Session& session, StopSignals& stop_signals, const FollowOptions& options) {
  std::optional<ProgressPrinter> progress;
  if (!options.quiet) progress.emplace(std::cerr, ProgressOptions{is_terminal(2), terminal_columns(2)});
  const Instant begin = monotonic_now();
  int signals = 0;
  for (;;) {
    const Result<JobState> state = session.wait(options.job, kLook);
    if (!state) return state.error();
    const Instant now = monotonic_now();
    const ProgressView view{options.name, *state, session.counts(options.job), now - begin};
    if (*state != JobState::Running) {
      if (progress) progress->finish(view);
      return session.view(options.job);
    }
    if (progress) progress->update(view, now);
    if (stop_signals.take()) {
      ++signals;
      if (!options.cancel_on_signal || signals > 1) return session.view(options.job);
      if (progress) progress->clear();
      std::cerr << "cancelling; once more to leave at once" << std::endl;
      const Result<Value> asked = session.ask("cancel", {to_string(options.job)});
      if (!asked && asked.error().code != ErrorCode::WrongState) return asked.error();
    }
    if (options.timeout != Duration::max() && now - begin >= options.timeout)
      return Error{ErrorCode::TimedOut, to_string(options.job), "has not ended in that time; it goes on", "wait again, or cancel it"};
  }
}

int exit_code_of(const client::JobView& view) {
  switch (view.state) {
    case JobState::Succeeded: return kSuccess;
    case JobState::Failed:
    case JobState::Cancelled: return kJobFailed;
    case JobState::Running: return kInterrupted;
  }
  return kJobFailed;
}

}  // namespace penstock::cli
