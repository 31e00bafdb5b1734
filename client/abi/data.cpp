// Writable access to data that were handed out.
#include "client/abi/data.hpp"

#include <atomic>
#include <string>
#include <utility>

#include "client/abi/arguments.hpp"
#include "client/abi/last_error.hpp"

using penstock::Descriptor;
using penstock::Error;
using penstock::ErrorCode;
using penstock::MemorySegment;
using penstock::Result;
using penstock::abi::refuse;
using penstock::worker::Blob;
using penstock::worker::BlobPtr;

namespace {

/// A sole holder writes in place; null if others may read the datum.
std::byte* reopen(const BlobPtr& blob) {
  if (blob.use_count() != 1) return nullptr;
  std::atomic_thread_fence(std::memory_order_acquire);  // Former holders have finished reading before we write.
  return const_cast<Blob&>(*blob).reopen();
}

/// Maps the same pages again; written pages become the caller's own copies.
Result<MemorySegment> map_again(const Blob& blob) {
  Result<Descriptor> handle = blob.share();
  if (!handle) return std::move(handle).error();
  Result<MemorySegment> mapped = MemorySegment::map(std::move(handle).value(), blob.bytes().size());
  if (mapped) PENSTOCK_TRY(mapped->write_privately());
  return mapped;
}

Result<void*> make_writable(penstock_data& data, std::size_t index) {
  if (data.blobs.empty()) {  // Inputs of a runner.
    PENSTOCK_TRY(data.segments[index].write_privately());
    return static_cast<void*>(data.segments[index].data());
  }
  BlobPtr& blob = data.blobs[index];
  if (blob == nullptr) return const_cast<void*>(data.views[index].data);  // Empty, or mapped by an earlier call.
  if (std::byte* own = reopen(blob)) return static_cast<void*>(own);
  Result<MemorySegment> mapped = map_again(*blob);
  if (!mapped) return std::move(mapped).error();
  void* own = mapped->data();
  data.segments.push_back(std::move(mapped).value());
  data.views[index].data = own;
  blob = nullptr;
  return own;
}

}  // namespace

void* penstock_data_write(penstock_data* data, uint64_t index) try {
  if (data == nullptr) return refuse(penstock::abi::is_null("data"));
  if (index >= data->views.size() || data->views[index].size == 0)
    return refuse({ErrorCode::InvalidArgument, "view " + std::to_string(index), "has no bytes", {}});
  const Result<void*> writable = make_writable(*data, index);
  return writable ? *writable : refuse(writable.error());
}
PENSTOCK_NOTHING_THROWN(refuse)
