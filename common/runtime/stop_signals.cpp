#include "common/runtime/stop_signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/check.hpp"

namespace penstock {

class StopSignals::Watch {
 public:
  Watch(Loop& loop, const Descriptor& signals, std::function<void()> on_stop)
      : signals_(signals), watch_(loop, signals), on_stop_(std::move(on_stop)) {
    wait();
  }

 private:
  void wait() {
    watch_.when_readable([this] {
      signalfd_siginfo signal{};
      const bool come = ::read(signals_.get(), &signal, sizeof signal) == sizeof signal;
      wait();
      if (come) on_stop_();
    });
  }

  const Descriptor& signals_;
  DescriptorWatch watch_;
  const std::function<void()> on_stop_;
};

StopSignals::StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = Descriptor{::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)};
  PENSTOCK_CHECK(signals_);
}

bool StopSignals::take() {
  signalfd_siginfo signal{};
  return ::read(signals_.get(), &signal, sizeof signal) == sizeof signal;
}

std::shared_ptr<StopSignals::Watch> StopSignals::watch(Loop& loop, std::function<void()> on_stop) {
  return std::make_shared<Watch>(loop, signals_, std::move(on_stop));
}

}  // namespace penstock
