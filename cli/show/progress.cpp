#include "cli/show/progress.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "cli/jobfile/amounts.hpp"
#include "cli/jobfile/field_reader.hpp"
#include "cli/show/render.hpp"

namespace penstock::cli {
namespace {

constexpr Duration kBarEvery = std::chrono::milliseconds{100};
constexpr Duration kLineEvery = std::chrono::seconds{1};
constexpr std::size_t kNameColumnsMax = 24;
constexpr std::size_t kBarColumnsMin = 10;
constexpr std::size_t kBarColumnsMax = 40;

std::uint64_t ended(const JobCounts& counts) { return counts.succeeded + counts.failed + counts.cancelled; }

// `, 3 on workers, 1 failed`: the counts that are not zero.
std::string rest_of_counts(const JobCounts& counts) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) text += ", " + show_count(count) + " " + what;
  };
  add(counts.assigned, "on workers");
  add(counts.failed, "failed");
  add(counts.cancelled, "cancelled");
  return text;
}

// Names come from users and must not control the terminal.
std::string shown_name(const std::string& name) {
  std::string text = in_quotes(name);
  text = text.substr(1, text.size() - 2);
  return cut_to(text, kNameColumnsMax);
}

}  // namespace

Duration expected_rest(const ProgressView& view) {
  const JobCounts& counts = view.counts;
  const std::uint64_t done = ended(counts);
  if (done == 0 || done >= counts.total || view.state != JobState::Running) return Duration{0};
  const double pace = static_cast<double>(view.elapsed.count()) / static_cast<double>(done);
  return Duration{std::llround(std::min(pace * static_cast<double>(counts.total - done), 9e18))};
}

std::string progress_bar(const ProgressView& view, std::uint32_t columns) {
  const JobCounts& counts = view.counts;
  const double share =
      counts.total > 0 ? std::min(static_cast<double>(ended(counts)) / static_cast<double>(counts.total), 1.0) : 0;
  // Rounded down: 100% means that nothing is left.
  const auto percent = static_cast<std::uint64_t>(share * 100);
  std::string head = shown_name(view.name);
  std::string tail = std::string(percent < 10    ? 2
                                 : percent < 100 ? 1
                                                 : 0,
                                 ' ') +
                     std::to_string(percent) + "%  " + show_count(counts.succeeded) + "/" + show_count(counts.total) +
                     rest_of_counts(counts) + "  " + show_duration(view.elapsed);
  if (const Duration rest = expected_rest(view); rest > Duration{0}) tail += ", about " + show_duration(rest) + " left";
  if (view.state != JobState::Running) tail += ", " + std::string{to_string(view.state)};
  const std::size_t text_columns = columns_of(head) + 1 + 2 + 1 + columns_of(tail);
  const std::size_t room = columns > text_columns ? columns - text_columns : 0;
  if (room >= kBarColumnsMin) {
    const std::size_t cells = std::min(room, kBarColumnsMax);
    const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
    head += " [" + std::string(full, '#') + std::string(cells - full, '.') + "]";
  }
  return cut_to(head + " " + tail, columns);
}

std::string progress_line(const ProgressView& view) {
  const JobCounts& counts = view.counts;
  return shown_name(view.name) + ": " + std::string{to_string(view.state)} + ", " + show_count(counts.succeeded) +
         " of " + show_count(counts.total) + " subtasks succeeded" + rest_of_counts(counts) + ", " +
         show_duration(view.elapsed);
}

void ProgressPrinter::write(const ProgressView& view) {
  if (options_.terminal) {
    // One column stays free: some terminals wrap when the last one is written.
    out_ << '\r' << progress_bar(view, std::max(options_.columns, 2U) - 1) << "\x1b[K" << std::flush;
    bar_visible_ = true;
  } else {
    out_ << progress_line(view) << '\n' << std::flush;
  }
  shown_ = view.counts;
  any_shown_ = true;
}

void ProgressPrinter::update(const ProgressView& view, Instant now) {
  // Without a size there is no progress to show.
  if (view.counts.total == 0) return;
  if (any_shown_ && now < next_) return;
  // A bar also shows that time passes; an unchanged line does not.
  if (any_shown_ && !options_.terminal && shown_ == view.counts) return;
  write(view);
  next_ = later(now, options_.terminal ? kBarEvery : kLineEvery);
}

void ProgressPrinter::finish(const ProgressView& view) {
  write(view);
  if (options_.terminal) out_ << '\n' << std::flush;
  bar_visible_ = false;
}

void ProgressPrinter::clear() {
  if (!bar_visible_) return;
  out_ << "\r\x1b[K" << std::flush;
  bar_visible_ = false;
  any_shown_ = false;
}

}  // namespace penstock::cli
