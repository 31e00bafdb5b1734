// Data that were handed out, kept alive for whoever looks at them.
#pragma once

#include <vector>

#include "client/include/penstock/penstock.h"
#include "common/runtime/memory_segment.hpp"
#include "worker/store/object_store.hpp"

/// Invariant: `views` show what the others hold, and nothing of it changes.
struct penstock_data {
  std::vector<penstock::worker::BlobPtr> blobs;
  std::vector<penstock::MemorySegment> segments;
  std::vector<penstock_bytes> views;
};
