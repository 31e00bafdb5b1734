// The progress of a job: a moving bar in a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "common/base/time.hpp"
#include "common/protocol/client.hpp"

namespace penstock::cli {

struct ProgressView {
  std::string name;
  JobState state = JobState::Running;
  JobCounts counts;
  Duration elapsed{0};
};

/// `name [####......]  40%  4/10, 3 on workers, 1 failed  1.23 s, about 1.8 s left`, in at most `columns`. No line end.
std::string progress_bar(const ProgressView& view, std::uint32_t columns);
/// `name: running, 4 of 10 subtasks succeeded, 3 on workers, 1 failed, 1.23 s`. No line end.
std::string progress_line(const ProgressView& view);
/// The remaining time at the pace so far; 0: unknown.
Duration expected_rest(const ProgressView& view);

struct ProgressOptions {
  bool terminal = false;  ///< Whether the stream is a terminal: redraw a bar in place.
  std::uint32_t columns = 80;
};

/// Writes progress to a stream that outlives it, not more often than people can read. Used by one thread.
class ProgressPrinter {
 public:
  ProgressPrinter(std::ostream& out, const ProgressOptions& options) : out_(out), options_(options) {}

  /// A bar ten times a second, a line once a second, if anything changed; nothing before its size is known.
  void update(const ProgressView& view, Instant now);
  /// Writes the final state, always, and ends the bar's line.
  void finish(const ProgressView& view);
  /// Removes the bar, so that something else can be printed; the next update draws it again.
  void clear();

 private:
  void write(const ProgressView& view);

  std::ostream& out_;
  const ProgressOptions options_;
  Instant next_{};
  JobCounts shown_;
  bool any_shown_ = false;
  bool bar_visible_ = false;
};

}  // namespace penstock::cli
