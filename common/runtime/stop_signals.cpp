#include "common/runtime/stop_signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "common/base/check.hpp"

namespace penstock {

class StopSignals::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(Loop& loop, int descriptor, std::function<void()> on_stop)
      : signals_(loop.io(), ::dup(descriptor)), on_stop_(std::move(on_stop)) {}

  void wait() {
    signals_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                        [weak = weak_from_this()](const boost::system::error_code& error) {
                          const auto alive = weak.lock();
                          if (error || alive == nullptr) return;
                          signalfd_siginfo signal{};
                          if (::read(alive->signals_.native_handle(), &signal, sizeof signal) == sizeof signal) alive->on_stop_();
                          alive->wait();
                        });
  }

 private:
  boost::asio::posix::stream_descriptor signals_;
  const std::function<void()> on_stop_;
};

StopSignals::StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  descriptor_ = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  PENSTOCK_CHECK(descriptor_ >= 0);
}

StopSignals::~StopSignals() { ::close(descriptor_); }

bool StopSignals::take() {
  signalfd_siginfo signal{};
  return ::read(descriptor_, &signal, sizeof signal) == sizeof signal;
}

std::shared_ptr<StopSignals::Watch> StopSignals::watch(Loop& loop, std::function<void()> on_stop) {
  auto watch = std::make_shared<Watch>(loop, descriptor_, std::move(on_stop));
  watch->wait();
  return watch;
}

}  // namespace penstock
