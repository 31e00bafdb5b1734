// Coroutines that wait for results. Part of client.hpp.
//
//     penstock::engine::Coroutine<double> total(EventLoop& loop, Client& client) {
//       GraphBuilder graph;
//       ...
//       const Job job = client.submit(std::move(graph)).value();
//       const Expected<double> part = co_await loop.result(job, handle);   // Other coroutines go on meanwhile.
//       ...
//     }
//     EventLoop loop{client};
//     const double sum = loop.run(total(loop, client));
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "expected.hpp"   // tidy: allow arrows: engines have these headers without the root
#include "job.hpp"        // tidy: allow arrows: engines have these headers without the root
#include "operation.hpp"  // tidy: allow arrows: engines have these headers without the root
#include "penstock.h"     // tidy: allow arrows: engines have these headers without the root

namespace penstock::engine {

class Client;

namespace detail {

/// The common part of coroutines of all types: the coroutine that waits for this one, and an exception that has
/// left it.
struct CoroutinePromise {
  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      return ended.promise().waiter ? ended.promise().waiter : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }

  std::coroutine_handle<> waiter;
  std::exception_ptr thrown;
};

template <class T>
struct ValuePromise : CoroutinePromise {
  template <class U>
  void return_value(U&& given) {
    value.emplace(std::forward<U>(given));
  }
  T take() {
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*value);
  }
  std::optional<T> value;
};
template <>
struct ValuePromise<void> : CoroutinePromise {
  void return_void() const noexcept {}
  void take() const {
    if (thrown) std::rethrow_exception(thrown);
  }
};

}  // namespace detail

/// A coroutine with a result, which begins when it is awaited, or given to an `EventLoop`; an exception that leaves it
/// leaves there. Moved, never copied.
template <class T = void>
class [[nodiscard]] Coroutine {
 public:
  struct promise_type : detail::ValuePromise<T> {
    Coroutine get_return_object() { return Coroutine{std::coroutine_handle<promise_type>::from_promise(*this)}; }
  };
  Coroutine(Coroutine&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Coroutine& operator=(Coroutine&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Coroutine() {
    if (coroutine_) coroutine_.destroy();
  }

  bool await_ready() const noexcept { return coroutine_.done(); }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    coroutine_.promise().waiter = waiter;
    return coroutine_;
  }
  T await_resume() { return coroutine_.promise().take(); }

 private:
  friend class EventLoop;
  explicit Coroutine(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  std::coroutine_handle<promise_type> coroutine_;
};

/// Resumes coroutines as results come, on the thread that calls `run`; for that thread alone. A client has one such
/// loop at a time, which takes its news (`penstock_next_news`). A `Job` must neither move nor end while it is awaited.
class EventLoop {
 public:
  /// The client must outlive the loop.
  explicit EventLoop(const Client& client);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Awaitable: the end of a job, as `Job::wait`.
  auto wait(const Job& job) {
    return Wait{*this, job.number(), kWholeJob, [&job] { return job.wait(kNow); }};
  }
  /// Awaitable: the end of one subtask, independent of the rest.
  template <class T>
  auto wait(const Job& job, Handle<T> handle) {
    return Wait{*this, job.number(), handle.subtask, [&job, handle] { return job.wait(handle, kNow); }};
  }
  /// Awaitable: one result as a value, as `Job::result`.
  template <class T>
  auto result(const Job& job, Handle<T> handle) {
    return Wait{*this, job.number(), handle.subtask, [&job, handle] { return job.result(handle); }};
  }
  /// Awaitable: the bytes of one result, as `Job::datum`.
  template <class T>
  auto datum(const Job& job, Handle<T> handle) {
    return Wait{*this, job.number(), handle.subtask, [&job, handle] { return job.datum(handle); }};
  }

  /// Begins a coroutine, which goes on beside others while the loop runs. An exception that leaves it leaves `run`.
  void start(Coroutine<> coroutine) {
    coroutine.coroutine_.resume();
    started_.push_back(std::move(coroutine));
  }
  /// Until all coroutines that were started have ended, also those that they start.
  void run() {
    while (any_open()) resume_next();
  }
  /// Until this coroutine has ended; its result.
  template <class T>
  T run(Coroutine<T> coroutine) {
    coroutine.coroutine_.resume();
    while (!coroutine.coroutine_.done()) resume_next();
    return coroutine.await_resume();
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  ///< Job, and subtask or `kWholeJob`.
  static constexpr std::int64_t kWholeJob = -1;
  static constexpr std::chrono::nanoseconds kNow{0};

  /// Awaits until the subtask, or the job, has ended; then `take()` does not wait.
  template <class Take>
  struct Wait {
    Wait(EventLoop& of, std::int64_t job, std::int64_t subtask, Take taken)
        : loop(of), key(job, subtask), take(std::move(taken)) {}
    bool await_ready() const { return loop.is_over(key); }
    void await_suspend(std::coroutine_handle<> waiter) { loop.waiters_.emplace(key, waiter); }
    auto await_resume() { return take(); }

    EventLoop& loop;
    Key key;
    Take take;
  };

  /// True also where nothing can be waited for: then `take` tells why.
  bool is_over(const Key& key) const {
    const auto& [job, subtask] = key;
    return PENSTOCK_RUNNING != (subtask == kWholeJob
                                    ? penstock_wait(client_, job, 0)
                                    : penstock_wait_subtask(client_, job, static_cast<std::uint32_t>(subtask), 0));
  }
  bool any_open() {
    for (std::size_t i = 0; i < started_.size();) {
      if (!started_[i].coroutine_.done()) {
        ++i;
        continue;
      }
      const Coroutine<> ended = std::exchange(started_[i], std::move(started_.back()));
      started_.pop_back();
      ended.coroutine_.promise().take();
    }
    return !started_.empty();
  }
  /// Waits for the next news, and resumes the coroutines that have waited for them.
  void resume_next() {
    std::vector<std::coroutine_handle<>> ready;
    if (const penstock_news* news = penstock_next_news(client_, -1); news != nullptr) {
      take_ended(*news, ready);
      penstock_news_free(news);
    } else {  // The client was interrupted, or the loop woken.
      for (auto at = waiters_.begin(); at != waiters_.end();) {
        if (is_over(at->first)) {
          ready.push_back(at->second);
          at = waiters_.erase(at);
        } else {
          ++at;
        }
      }
    }
    for (const std::coroutine_handle<> waiter : ready) waiter.resume();
  }
  void take_ended(const penstock_news& news, std::vector<std::coroutine_handle<>>& ready) {
    const auto take = [&](std::int64_t first, std::int64_t last) {
      const auto begin = waiters_.lower_bound({news.job, first}), end = waiters_.upper_bound({news.job, last});
      for (auto at = begin; at != end; ++at) ready.push_back(at->second);
      waiters_.erase(begin, end);
    };
    for (std::uint64_t i = 0; i < news.succeeded_count; ++i) take(news.succeeded[i].first, news.succeeded[i].last);
    for (std::uint64_t i = 0; i < news.cancelled_count; ++i) take(news.cancelled[i].first, news.cancelled[i].last);
    for (std::uint32_t i = 0; i < news.failure_count; ++i) take(news.failures[i].subtask, news.failures[i].subtask);
    if (news.state != PENSTOCK_RUNNING) take(kWholeJob, std::numeric_limits<std::uint32_t>::max());
  }

  penstock_client* client_;
  std::multimap<Key, std::coroutine_handle<>> waiters_;
  std::vector<Coroutine<>> started_;
};

}  // namespace penstock::engine
