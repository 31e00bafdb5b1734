// Data that were handed out, kept alive for whoever looks at them.
#pragma once

#include <vector>

#include "client/include/penstock/penstock.h"
#include "common/runtime/memory_segment.hpp"
#include "worker/store/object_store.hpp"

/// Invariant: `views` show what the others hold, and nobody else changes it. A runner's inputs are segments, one for
/// each view; others are blobs, and segments for those that were mapped to be written.
struct penstock_data {
  std::vector<penstock::worker::BlobPtr> blobs;
  std::vector<penstock::MemorySegment> segments;
  std::vector<penstock_bytes> views;
};
