// Jobs and their results. Part of client.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "expected.hpp"       // tidy: allow arrows: engines have these headers without the root
#include "graph_builder.hpp"  // tidy: allow arrows: engines have these headers without the root
#include "operation.hpp"      // tidy: allow arrows: engines have these headers without the root
#include "penstock.h"         // tidy: allow arrows: engines have these headers without the root

namespace penstock::engine {

/// A result, read in place: without a copy when the cluster is inside this process, or its worker on this host and the
/// datum is large. Moved, never copied.
class Datum {
 public:
  std::span<const std::byte> bytes() const {
    const penstock_bytes& view = *penstock_data_views(data_.get());
    return {static_cast<const std::byte*>(view.data), static_cast<std::size_t>(view.size)};
  }

 private:
  friend class Client;
  friend class Job;
  struct Free {
    void operator()(penstock_data* data) const { penstock_data_free(data); }
  };
  explicit Datum(penstock_data* data) : data_(data) {}
  std::unique_ptr<penstock_data, Free> data_;
};

enum class JobState {
  Running = PENSTOCK_RUNNING,
  Succeeded = PENSTOCK_SUCCEEDED,
  Failed = PENSTOCK_FAILED,
  Cancelled = PENSTOCK_CANCELLED
};

/// A subtask that has failed for good.
struct SubtaskFailure {
  std::uint32_t subtask = 0;
  std::uint32_t failure_class = 0;  ///< As `penstock_failure`.
  std::int32_t exit_code = -1;      ///< -1: none.
  std::int32_t signal = 0;
  std::string name;
  std::string code;  ///< `LimitExceeded`: outputs larger than the worker's store, ...; empty: unknown.
  std::string message;
  std::string output_tail;
  std::string detail;                ///< From the runner for its engine.
  std::vector<std::string> history;  ///< One line for each attempt.
};

/// A submitted graph. Its results are kept until it is destroyed or released. A job that was attached to, or that
/// existed already under its name, belongs to its submitter: only `release` lets its results go. The client must
/// outlive the object.
class Job {
 public:
  Job(Job&& other) noexcept
      : client_(std::exchange(other.client_, nullptr)),
        number_(other.number_),
        ours_(other.ours_),
        graph_(other.graph_),
        identity_(other.identity_) {}
  Job& operator=(Job&& other) noexcept {
    if (this == &other) return *this;
    close();
    client_ = std::exchange(other.client_, nullptr);
    number_ = other.number_;
    ours_ = other.ours_;
    graph_ = other.graph_;
    identity_ = other.identity_;
    return *this;
  }
  ~Job() { close(); }

  std::int64_t number() const { return number_; }
  /// The identity of this job, which no other job ever has; its number may be given to another job after a restore.
  /// Both halves are 0 under a supervisor before 0.2.0.
  const penstock_identity& identity() const { return identity_; }
  /// False: another client has made it.
  bool ours() const { return ours_; }
  /// The job was there under its name before it was submitted, or attached to, here: it did not begin anew.
  bool existed() const { return !ours_; }
  /// The state when the job has ended or the time is over; without a timeout: when it has ended. WrongState, as for all
  /// queries of the job, after it was released, detached from or moved from.
  Expected<JobState> wait(std::optional<std::chrono::nanoseconds> timeout = {}) const {
    if (client_ == nullptr) return left();
    const std::int32_t state = penstock_wait(client_, number_, timeout ? timeout->count() : -1);
    if (state < 0) return last_failure();
    return static_cast<JobState>(state);
  }
  Expected<JobState> poll() const { return wait(std::chrono::nanoseconds{0}); }
  /// The same for one subtask, independent of the rest.
  template <class T>
  Expected<JobState> wait(Handle<T> handle, std::optional<std::chrono::nanoseconds> timeout = {}) const {
    if (const std::optional<Failure> refused = check(handle)) return *refused;
    const std::int32_t state = penstock_wait_subtask(client_, number_, handle.subtask, timeout ? timeout->count() : -1);
    if (state < 0) return last_failure();
    return static_cast<JobState>(state);
  }
  /// All 0 after the job was released, detached from or moved from.
  penstock_counts counts() const {
    penstock_counts counts{};
    if (client_ != nullptr) penstock_job_counts(client_, number_, &counts);
    return counts;
  }
  /// Waits, and reports the progress each `every`.
  Expected<JobState> watch(std::chrono::nanoseconds every,
                           const std::function<void(const penstock_counts&)>& on_progress) const {
    if (on_progress == nullptr) return Failure{"InvalidArgument", "on_progress", "is empty", "`wait` tells nothing"};
    for (;;) {
      Expected<JobState> state = wait(every);
      on_progress(counts());
      if (!state || state.value() != JobState::Running) return state;
    }
  }
  Expected<bool> cancel() {
    if (client_ == nullptr) return left();
    if (penstock_cancel(client_, number_) < 0) return last_failure();
    return true;
  }
  /// Cancels one subtask and its successors.
  template <class T>
  Expected<bool> cancel(Handle<T> handle) {
    if (const std::optional<Failure> refused = check(handle)) return *refused;
    if (penstock_cancel_subtask(client_, number_, handle.subtask) < 0) return last_failure();
    return true;
  }
  /// Subtasks that have failed for good so far.
  Expected<std::vector<SubtaskFailure>> failures() const {
    if (client_ == nullptr) return left();
    std::vector<SubtaskFailure> all;
    const penstock_news* news = penstock_job_failures(client_, number_);
    for (std::uint32_t i = 0; news != nullptr && i < news->failure_count; ++i) {
      const penstock_failure& one = news->failures[i];
      all.push_back({one.subtask,
                     one.failure_class,
                     one.exit_code,
                     one.signal,
                     one.name,
                     penstock_failure_code(news, i),
                     text_of(one.message),
                     text_of(one.output_tail),
                     text_of(one.detail),
                     {one.history, one.history + one.history_count}});
    }
    if (news != nullptr) penstock_news_free(news);
    return all;
  }

  /// The bytes of one result, as soon as it is there, whatever happens to the rest of the job.
  template <class T>
  Expected<Datum> datum(Handle<T> handle) const {
    const Expected<JobState> state = wait(handle);
    if (!state) return state.failure();
    if (state.value() != JobState::Succeeded) return why_none(handle.subtask, state.value());
    penstock_data* data = penstock_fetch(client_, number_, &handle.subtask, 1, handle.output);
    if (data == nullptr) return last_failure();
    // Waits for the end of the job when all subtasks have ended: destroying it after that releases its results.
    if (const penstock_counts now = counts(); now.succeeded + now.failed + now.cancelled >= now.total)
      static_cast<void>(wait());
    return Datum{data};
  }
  /// The same as a value.
  template <class T>
  Expected<T> result(Handle<T> handle) const {
    Expected<Datum> found = datum(handle);
    if (!found) return found.failure();
    const std::span<const std::byte> bytes = found->bytes();
    if constexpr (std::is_same_v<T, std::string>) {
      return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } else {
      static_assert(std::is_trivially_copyable_v<T>, "read the bytes of it with `datum`");
      T value{};
      if (bytes.size() != sizeof value)
        return Failure{
            "InvalidArgument", "result", "has " + std::to_string(bytes.size()) + " bytes, not those of its type", {}};
      std::memcpy(&value, bytes.data(), sizeof value);
      return value;
    }
  }
  /// The lines that runners have written for the job or for one subtask, each with its attempt.
  Expected<std::string> log() const { return log_of(-1); }
  template <class T>
  Expected<std::string> log(Handle<T> handle) const {
    if (const std::optional<Failure> refused = check(handle)) return *refused;
    return log_of(handle.subtask);
  }
  void release() {
    if (client_ != nullptr) penstock_release(std::exchange(client_, nullptr), number_);
  }
  /// The same for the results of single subtasks, also while the job runs. Results that other subtasks have still to
  /// read go after that. Does not wait.
  template <class T>
  Expected<bool> release(const std::vector<Handle<T>>& handles) {
    if (client_ == nullptr) return left();
    std::vector<std::uint32_t> subtasks;
    for (const Handle<T> handle : handles) {
      if (const std::optional<Failure> refused = check(handle)) return *refused;
      subtasks.push_back(handle.subtask);
    }
    if (penstock_release_outputs(client_, number_, subtasks.data(), subtasks.size()) < 0) return last_failure();
    return true;
  }
  template <class T>
  Expected<bool> release(Handle<T> handle) {
    return release(std::vector<Handle<T>>{handle});
  }
  /// Stops following the job; it goes on, and its results are kept as those of a job without followers.
  void detach() {
    if (client_ != nullptr) penstock_detach(std::exchange(client_, nullptr), number_);
  }

 private:
  friend class Client;
  friend class GraphBuilder;
  static constexpr std::uint32_t kInputLost = 5;  ///< Of `penstock_failure.failure_class`.

  static std::string text_of(const penstock_bytes& bytes) {
    return bytes.size == 0 ? std::string{} : std::string{static_cast<const char*>(bytes.data), bytes.size};
  }
  /// The failure of asking for the result of a subtask that ended without success.
  Failure why_none(std::uint32_t subtask, JobState state) const {
    const std::string subject = "subtask " + std::to_string(subtask) + " of job-" + std::to_string(number_);
    const Expected<std::vector<SubtaskFailure>> failed = failures();
    if (!failed) return failed.failure();
    for (const SubtaskFailure& one : failed.value())
      if (one.subtask == subtask)
        return {!one.code.empty()                 ? one.code
                : one.failure_class == kInputLost ? "InputLost"
                                                  : "UserError",
                one.name.empty() ? subject : one.name, "failed for good: " + one.message,
                "see the history of its attempts"};
    // The failure that has cancelled it is that of its job, which is about to end unless it continues.
    if (!failed.value().empty()) static_cast<void>(wait());
    if (penstock_job_error(client_, number_) < 0) return last_failure();
    const bool failed_itself = state == JobState::Failed;
    return {failed_itself ? "UserError" : "Cancelled", subject, failed_itself ? "has failed" : "was cancelled", {}};
  }
  Failure left() const {
    return {"WrongState", "job-" + std::to_string(number_), "was released, detached from or moved from", {}};
  }
  Expected<std::string> log_of(std::int64_t subtask) const {
    if (client_ == nullptr) return left();
    const Datum log{penstock_job_log(client_, number_, subtask)};
    if (log.data_ == nullptr) return last_failure();
    const std::span<const std::byte> bytes = log.bytes();
    return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class T>
  std::optional<Failure> check(Handle<T> handle) const {
    if (client_ == nullptr) return left();
    if (graph_ == 0 || handle.graph == 0 || graph_ == handle.graph) return {};
    return Failure{
        "InvalidArgument", "handle", "is one of another graph than that of job-" + std::to_string(number_), {}};
  }
  void close() { ours_ ? release() : detach(); }
  Job(penstock_client* client, std::int64_t number, bool ours, std::uint64_t graph)
      : client_(client), number_(number), ours_(ours), graph_(graph) {
    static_cast<void>(penstock_job_identity(client, number, &identity_));  // Otherwise it has none.
  }
  penstock_client* client_;
  std::int64_t number_;
  bool ours_;
  std::uint64_t graph_;  ///< Number of the graph of its handles; 0: it was submitted elsewhere.
  penstock_identity identity_{};
};

template <class T>
Handle<T> GraphBuilder::borrow(const Job& lender, Handle<T> lent) {
  if (!alias_) alias_ = add_template(PENSTOCK_NATIVE, "alias", {}, {});
  if (lender.graph_ != 0 && lent.graph != 0 && lender.graph_ != lent.graph)
    refuse("handle", "is one of another graph than that of the job it is borrowed from");
  const std::uint32_t numbers[] = {static_cast<std::uint32_t>(lender.number()), lent.subtask, lent.output};
  std::string payload;
  for (const std::uint32_t number : numbers)
    for (std::uint32_t shift = 0; shift < 32; shift += 8) payload += static_cast<char>(number >> shift & 0xffU);
  const penstock_identity& identity = lender.identity();
  if ((identity.high | identity.low) != 0)
    for (const std::uint64_t half : {identity.high, identity.low})
      for (std::uint32_t shift = 0; shift < 64; shift += 8) payload += static_cast<char>(half >> shift & 0xffU);
  return {add_one(*alias_, payload), number_};
}

}  // namespace penstock::engine
