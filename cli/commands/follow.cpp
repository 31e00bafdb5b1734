#include "cli/commands/follow.hpp"

#include <algorithm>
#include <iostream>
#include <optional>

#include "cli/jobfile/field_reader.hpp"
#include "cli/show/progress.hpp"
#include "cli/show/render.hpp"
#include "cli/show/terminal.hpp"
#include "common/host/clock.hpp"

namespace penstock::cli {
namespace {

/// Interval of looks at signals and the screen. The end of the job is noticed at once.
constexpr Duration kLook = std::chrono::milliseconds{50};
/// After a standstill of so long the supervisor is asked for the reason.
constexpr Duration kStandstill = std::chrono::seconds{2};
constexpr Duration kAnswerPatience = std::chrono::seconds{1};

/// The reason of a job's standstill, printed once for each reason: users must learn that their job waits for resources
/// that do not exist.
class Standstill {
 public:
  Standstill(client::Session& session, JobId job) : session_(session), job_(to_string(job)) {}

  /// The reason to print now; empty if there is none, or the same as before.
  std::string look(const JobCounts& counts, Instant now) {
    if (!since_ || counts != seen_) {
      since_ = now;
      seen_ = counts;
    }
    if (counts.assigned > 0 || now - *since_ < kStandstill) return {};
    since_ = now;
    const Result<Value> answer = session_.ask("explain", {job_}, kAnswerPatience);
    if (!answer) return {};
    const std::string* next = (*answer)["next"].text();
    const std::string* reason = (*answer)["reason"].text();
    if (next == nullptr || reason == nullptr || *reason == told_) return {};
    told_ = *reason;
    return (next->empty() ? "the next subtask" : in_quotes(*next)) + ": " + harmless(*reason);
  }

 private:
  client::Session& session_;
  const std::string job_;
  std::optional<Instant> since_;
  JobCounts seen_;
  std::string told_;
};

}  // namespace

Result<client::JobView> follow(client::Session& session, StopSignals& stop_signals, const FollowOptions& options) {
  std::optional<ProgressPrinter> progress;
  if (!options.quiet) progress.emplace(std::cerr, ProgressOptions{is_terminal(2), terminal_columns(2)});
  Standstill standstill{session, options.job};
  const Instant begin = monotonic_now();
  const Instant submitted = begin - options.running_for;
  int signals = 0;
  for (;;) {
    const Result<JobState> state = session.wait(options.job, kLook);
    if (!state) return state.error();
    const Instant now = monotonic_now();
    ProgressView view{options.name, *state, session.counts(options.job), now - submitted};
    // Before the first news only the size of the graph is known.
    view.counts.total = std::max(view.counts.total, options.subtasks);
    if (*state != JobState::Running) {
      if (progress) progress->finish(view);
      return session.view(options.job);
    }
    if (progress) {
      progress->update(view, now);
      if (const std::string reason = standstill.look(view.counts, now); !reason.empty()) {
        progress->clear();
        std::cerr << "waiting: " << reason << std::endl;
      }
    }
    if (stop_signals.take()) {
      ++signals;
      if (!options.cancel_on_signal || signals > 1) return session.view(options.job);
      if (progress) progress->clear();
      std::cerr << "cancelling; once more to leave at once" << std::endl;
      const Result<Value> asked = session.ask("cancel", {to_string(options.job)});
      if (!asked && asked.error().code != ErrorCode::WrongState) return asked.error();
    }
    if (options.timeout != Duration::max() && now - begin >= options.timeout)
      return Error{ErrorCode::TimedOut, to_string(options.job), "has not ended in that time; it goes on",
                   "wait again, or cancel it"};
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
