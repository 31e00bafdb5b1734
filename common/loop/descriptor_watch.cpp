#include "common/loop/descriptor_watch.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace penstock {

struct DescriptorWatch::State {
  using Stream = boost::asio::posix::stream_descriptor;
  State(Loop& loop, int fd) : stream(loop.io(), fd) {}

  void wait(std::shared_ptr<State> self, Stream::wait_type what, std::function<void()> work) {
    // The wait may end after the watch is destroyed; the handler holds the state that it uses.
    stream.async_wait(what, [self = std::move(self), work = std::move(work)](const boost::system::error_code& error) {
      if (!error && self->wanted) work();
    });
  }

  Stream stream;
  bool wanted = true;
};

DescriptorWatch::DescriptorWatch(Loop& loop, const Descriptor& descriptor)
    : state_(std::make_shared<State>(loop, descriptor.get())) {}

DescriptorWatch::~DescriptorWatch() {
  state_->wanted = false;
  // The owner keeps the descriptor; pending waits are cancelled.
  state_->stream.release();
}

void DescriptorWatch::when_readable(std::function<void()> work) {
  state_->wait(state_, State::Stream::wait_read, std::move(work));
}

void DescriptorWatch::when_writable(std::function<void()> work) {
  state_->wait(state_, State::Stream::wait_write, std::move(work));
}

}  // namespace penstock
