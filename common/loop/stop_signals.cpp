#include "common/loop/stop_signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/check.hpp"
#include "common/loop/descriptor_watch.hpp"

namespace penstock {

class Signals::Watch {
 public:
  Watch(Loop& loop, const Descriptor& signals, std::function<void()> on_signal)
      : signals_(signals), watch_(loop, signals), on_signal_(std::move(on_signal)) {
    wait();
  }

 private:
  void wait() {
    watch_.when_readable([this] {
      signalfd_siginfo signal{};
      const bool come = ::read(signals_.get(), &signal, sizeof signal) == sizeof signal;
      wait();
      if (come) on_signal_();
    });
  }

  const Descriptor& signals_;
  DescriptorWatch watch_;
  const std::function<void()> on_signal_;
};

namespace {

sigset_t set_of(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

Signals::Signals(std::initializer_list<int> signals) : blocked_(signals) {
  const sigset_t set = set_of(blocked_);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = Descriptor{::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)};
  PENSTOCK_CHECK(signals_);
}

bool Signals::take() {
  signalfd_siginfo signal{};
  return ::read(signals_.get(), &signal, sizeof signal) == sizeof signal;
}

std::shared_ptr<Signals::Watch> Signals::watch(Loop& loop, std::function<void()> on_signal) {
  return std::make_shared<Watch>(loop, signals_, std::move(on_signal));
}

void Signals::unblock() {
  const sigset_t set = set_of(blocked_);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

StopSignals::StopSignals() : Signals({SIGINT, SIGTERM}) {}

ReloadSignals::ReloadSignals() : Signals({SIGHUP}) {}

}  // namespace penstock
