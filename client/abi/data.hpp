// Data that were handed out to a caller, kept alive until it frees them.
#pragma once

#include <vector>

#include "client/include/penstock/penstock.h"
#include "common/host/memory_segment.hpp"
#include "worker/store/object_store.hpp"

/// Invariant: `views` show the bytes of the other members, and no other thread changes those. A runner's inputs are
/// segments, one for each view; other data are blobs, and segments for views that were mapped to be written.
struct penstock_data {
  std::vector<penstock::worker::BlobPtr> blobs;
  std::vector<penstock::MemorySegment> segments;
  std::vector<penstock_bytes> views;
};
