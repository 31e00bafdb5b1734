// The standard input of a command.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "common/host/descriptor.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// Texts and data, written one after the other into a pipe at the speed of its reader; nothing is copied.
class InputFeed {
 public:
  void add(std::string text);
  void add(BlobPtr blob);
  /// All is written, or the reader has closed the pipe.
  bool finished() const { return parts_.empty(); }

  /// Makes the pipe; returns the reader's end. Error: ResourceExhausted.
  Result<Descriptor> open();
  /// Writes as much as the pipe takes now. False when all is written; then the caller calls `close`.
  bool write_some();
  void close() { pipe_.close(); }
  /// The writer's end.
  const Descriptor& descriptor() const { return pipe_; }

 private:
  struct Part {
    std::string text;
    BlobPtr blob;
  };
  Descriptor pipe_;
  std::deque<Part> parts_;
  std::size_t written_ = 0;  ///< Of the first part.
};

}  // namespace penstock::worker
