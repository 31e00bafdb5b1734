// The store that a worker's options ask for, and the end of a worker after the failure of a part.
#include "worker/actors/worker_actor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <new>
#include <optional>

#include "common/loop/actor_host.hpp"
#include "tests/support/turn_until.hpp"

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

/// A device with a driver that throws.
class BrokenTier final : public DataTier {
 public:
  BlobPtr to_host(const DataKey&) override {
    throw std::bad_alloc{};  // tidy: allow call: a library's exception
  }
  void drop(const DataKey&) override {}
  void clear() override {}
};

TEST(WorkerActor, AWorkerWhoseDiskThreadFailsSaysWhyAndEnds) {
  Loop loop{Duration{0}};
  ObjectStore store;
  store.add_tier(std::make_shared<BrokenTier>());
  const OperatorRegistry operators;
  ActorHost actors{loop};
  const WorkerSurroundings surroundings{loop, operators, store};
  std::optional<Error> fatal;
  WorkerHandle worker = spawn_worker(actors.system(), surroundings, {}, {HostPort{"127.0.0.1", 1}},
                                     [&](const Error& error) { fatal = error; });
  while (loop.turn()) {
  }
  EXPECT_FALSE(fatal.has_value());
  store.spill({{JobId{1}, SubtaskIndex{1}}, 0}, [](const Result<void>&) { ADD_FAILURE() << "answered"; });
  ASSERT_TRUE(turn_until(loop, [&] { return fatal.has_value(); }));
  EXPECT_EQ(fatal->subject, "disk");
  EXPECT_NE(fatal->message.find("bad_alloc"), std::string::npos) << fatal->message;
  end_actor(worker);
  EXPECT_TRUE(turn_until(loop, [&] { return actors.system().registry().running() == 0; }));
}

}  // namespace
}  // namespace penstock::worker
