#include "worker/runner/command/input_feed.hpp"

#include <unistd.h>

#include <cerrno>
#include <span>

namespace penstock::worker {

void InputFeed::add(std::string text) {
  if (!text.empty()) parts_.push_back({std::move(text), nullptr});
}

void InputFeed::add(BlobPtr blob) {
  if (!blob->bytes().empty()) parts_.push_back({{}, std::move(blob)});
}

Result<Descriptor> InputFeed::open() {
  Result<Pipe> pipe = open_pipe();
  if (!pipe) return std::move(pipe).error();
  pipe_ = std::move(pipe->write);
  set_non_blocking(pipe_);
  return std::move(pipe->read);
}

bool InputFeed::write_some() {
  while (!parts_.empty()) {
    const Part& part = parts_.front();
    const std::span<const std::byte> bytes =
        part.blob != nullptr ? part.blob->bytes() : std::as_bytes(std::span{part.text});
    const ssize_t size = ::write(pipe_.get(), bytes.data() + written_, bytes.size() - written_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size < 0) {
      parts_.clear();  // A program need not read its input.
      break;
    }
    written_ += static_cast<std::size_t>(size);
    if (written_ < bytes.size()) return true;
    parts_.pop_front();
    written_ = 0;
  }
  return false;
}

}  // namespace penstock::worker
