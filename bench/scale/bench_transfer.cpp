// Speed of transfers between two workers' data planes on the loopback, and of control messages meanwhile.
//
//   bench_transfer [MIB [COUNT [STREAMS]]]: COUNT data of so many MiB each (256, 8, 4)
#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/base/rng.hpp"
#include "common/runtime/clock.hpp"
#include "common/runtime/host.hpp"
#include "worker/transfer/transfer_thread.hpp"

namespace penstock::worker {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

/// 64 bytes there and back between two sockets of the control loop, a millisecond apart.
class Pings {
 public:
  explicit Pings(Loop& loop) : timer_(loop), here_(loop.io()), there_(loop.io()) {
    tcp::acceptor acceptor{loop.io(), {boost::asio::ip::address_v4::loopback(), 0}};
    here_.connect(acceptor.local_endpoint());
    acceptor.accept(there_);
    here_.set_option(tcp::no_delay{true});
    there_.set_option(tcp::no_delay{true});
    echo();
    send();
  }

  double percentile(double part) {
    std::sort(micros_.begin(), micros_.end());
    return micros_.empty() ? 0 : micros_[static_cast<std::size_t>(part * static_cast<double>(micros_.size() - 1))];
  }
  std::size_t count() const { return micros_.size(); }

 private:
  void echo() {
    boost::asio::async_read(there_, boost::asio::buffer(pong_), [this](const error_code& error, std::size_t) {
      if (error) return;
      boost::asio::async_write(there_, boost::asio::buffer(pong_), [this](const error_code& failed, std::size_t) {
        if (!failed) echo();
      });
    });
  }
  void send() {
    const Instant begin = monotonic_now();
    boost::asio::async_write(here_, boost::asio::buffer(ping_), [](const error_code&, std::size_t) {});
    boost::asio::async_read(here_, boost::asio::buffer(answer_), [this, begin](const error_code& error, std::size_t) {
      if (error) return;
      micros_.push_back(static_cast<double>((monotonic_now() - begin).count()) / 1000);
      timer_.arm(monotonic_now() + std::chrono::milliseconds{1}, [this] { send(); });
    });
  }

  LoopTimer timer_;
  tcp::socket here_;
  tcp::socket there_;
  std::array<char, 64> ping_{};
  std::array<char, 64> pong_{};
  std::array<char, 64> answer_{};
  std::vector<double> micros_;
};

int measure(std::size_t bytes, std::uint32_t count, std::uint32_t streams) {
  Loop loop;
  ObjectStore here;
  ObjectStore there;
  TransferOptions options;
  options.listen = HostPort{"127.0.0.1", 0};
  options.limits.streams_max = streams;
  auto reader = TransferThread::open(loop, here, options);
  auto holder = TransferThread::open(loop, there, options);
  if (!reader || !holder) return 1;
  Rng random{1};
  for (std::uint32_t i = 0; i < count; ++i) {
    std::shared_ptr<Blob> blob = there.allocate(bytes);
    if (blob == nullptr) return 1;
    for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
      const std::uint64_t word = random.next();
      std::memcpy(blob->data() + at, &word, sizeof word);
    }
    there.put(DataKey{{JobId{1}, SubtaskIndex{i}}, 0}, std::move(blob));
  }
  std::uint32_t done = 0;
  bool failed = false;
  const HostPort from{"127.0.0.1", (*holder)->port()};
  Pings pings{loop};
  const std::int64_t cpu_before = process_usage().cpu_us;
  const Instant begin = monotonic_now();
  for (std::uint32_t i = 0; i < count; ++i)
    (*reader)->fetch(from, DataKey{{JobId{1}, SubtaskIndex{i}}, 0}, 0, [&](std::shared_ptr<Blob> blob, const Error&) {
      failed = failed || blob == nullptr;
      if (++done == count) loop.stop();
    });
  loop.run();
  const double gigabytes = static_cast<double>(bytes) * count / 1e9;
  const double cpu = static_cast<double>(process_usage().cpu_us - cpu_before) / 1e6;
  const double seconds = static_cast<double>((monotonic_now() - begin).count()) / 1e9;
  std::printf(
      "%u x %zu MiB over %u streams: %.2f GB/s, %.2f s of processor for a GB; %zu control round trips: p50 %.0f us, "
      "p99 %.0f us, max %.0f us%s\n",
      count, bytes >> 20U, streams, gigabytes / seconds, cpu / gigabytes, pings.count(), pings.percentile(0.5),
      pings.percentile(0.99), pings.percentile(1), failed ? "; FAILED" : "");
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace penstock::worker

int main(int argc, char** argv) {
  const auto argument = [&](int index, unsigned long standard) {
    return argc > index ? std::strtoul(argv[index], nullptr, 10) : standard;
  };
  return penstock::worker::measure(argument(1, 256) << 20U, static_cast<std::uint32_t>(argument(2, 8)),
                                   static_cast<std::uint32_t>(argument(3, 4)));
}
