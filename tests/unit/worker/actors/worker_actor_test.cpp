// The store that a worker's options ask for.
#include "worker/actors/worker_actor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::worker {
namespace {

/// How many files data may be, of which so many are kept for the next ones.
std::size_t files_for_data(const WorkerOptions& options, std::size_t open_files) {
  const StoreOptions store = store_options(options, open_files);
  return store.segments_max + store.reserve.segments_max;
}

TEST(WorkerStore, WhatIsSparedOfTheOpenFilesIsASetting) {
  WorkerOptions options;
  EXPECT_EQ(files_for_data(options, 4096), 4096U - 512);
  options.core.descriptors_spared = 1000;
  EXPECT_EQ(files_for_data(options, 4096), 4096U - 1000);
  options.core.descriptors_spared = 0;
  EXPECT_EQ(files_for_data(options, 4096), 4096U);
}

TEST(WorkerStore, HalfOfTheOpenFilesAreForDataWhateverIsSpared) {
  WorkerOptions options;
  for (const std::uint32_t spared : {2047U, 2048U, 2049U, 1U << 24U}) {
    options.core.descriptors_spared = spared;
    EXPECT_EQ(files_for_data(options, 4096), 4096U - std::min(spared, 2048U)) << spared;
  }
}

}  // namespace
}  // namespace penstock::worker
