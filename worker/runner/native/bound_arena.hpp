// Threads of TBB on a band's processors.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <memory>
#include <utility>
#include <vector>

#include "worker/runner/native/crash_note.hpp"

namespace penstock::worker {

inline void bind_thread(const std::vector<int>& processors) {
  if (processors.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor >= 0 && processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/// An arena of a number of threads on the band's processors.
class BoundArena : public tbb::task_scheduler_observer {
 public:
  /// `running` is what its threads work for, if that is always the same.
  BoundArena(int threads, const std::vector<int>& processors, const RunningOperator* running = nullptr)
      : BoundArena(std::make_unique<tbb::task_arena>(threads, 1), processors, running) {}
  ~BoundArena() override { observe(false); }
  void on_scheduler_entry(bool) override {
    bind_thread(processors_);
    if (running_ != nullptr) set_running_operator(running_);
  }
  void on_scheduler_exit(bool) override {
    if (running_ != nullptr) set_running_operator(nullptr);
  }
  template <class Work>
  void execute(Work&& work) {
    arena_->execute(std::forward<Work>(work));
  }

 private:
  BoundArena(std::unique_ptr<tbb::task_arena> arena, const std::vector<int>& processors, const RunningOperator* running)
      : task_scheduler_observer(*arena), arena_(std::move(arena)), processors_(processors), running_(running) {
    observe(true);
  }
  std::unique_ptr<tbb::task_arena> arena_;
  const std::vector<int>& processors_;
  const RunningOperator* const running_;
};

}  // namespace penstock::worker
