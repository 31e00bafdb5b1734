// Data on disk: what is written comes back whole or not at all (faults F41, F42).
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/rng.hpp"
#include "tests/support/scratch_directory.hpp"
#include "worker/store/datum_file.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kSizes[] = {1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3'500'000};

DataKey key(std::uint32_t subtask) { return DataKey{{JobId{1}, SubtaskIndex{subtask}}, 2}; }

enum class Content { Random, Repetitive };

std::vector<std::byte> content(std::size_t bytes, Content kind) {
  Rng random{bytes};
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(kind == Content::Random ? random.below(256) : i / 1000);
  return data;
}

std::shared_ptr<Blob> blob_of(const ObjectStore& store, const std::vector<std::byte>& data) {
  std::shared_ptr<Blob> blob = store.allocate(data.size());
  std::memcpy(blob->data(), data.data(), data.size());
  return blob;
}

bool same(const BlobPtr& blob, const std::vector<std::byte>& data) {
  return blob != nullptr && blob->bytes().size() == data.size() &&
         std::memcmp(blob->bytes().data(), data.data(), data.size()) == 0;
}

/// Waits for the answer of the store's thread.
template <class Order>
Result<void> answer(Order&& order) {
  std::promise<Result<void>> promise;
  std::future<Result<void>> future = promise.get_future();
  order([&promise](const Result<void>& done) { promise.set_value(done); });
  if (future.wait_for(std::chrono::seconds{30}) != std::future_status::ready) {
    ADD_FAILURE() << "no answer";
    std::abort();
  }
  return future.get();
}

StoreOptions options_in(const ScratchDirectory& scratch) {
  StoreOptions options;
  options.segment_bytes_min = 4096;
  options.spill.place = scratch.at("spill");
  options.checkpoints = scratch.at("shared");
  return options;
}

Result<void> spill(ObjectStore& store, std::uint32_t subtask) {
  return answer([&](auto done) { store.spill(key(subtask), done); });
}
Result<void> restore(ObjectStore& store, std::uint32_t subtask) {
  return answer([&](auto done) { store.restore(key(subtask), done); });
}

std::vector<std::string> files_under(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{directory, none})
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  return files;
}

Result<void> read_back(const std::string& path, std::vector<std::byte>& into) {
  return read_datum_file(path, key(1), [&](std::size_t bytes) {
    into.resize(bytes);
    return into.data();
  });
}

TEST(DatumFile, WhatIsWrittenComesBackInEverySize) {
  const ScratchDirectory scratch;
  for (const Content kind : {Content::Random, Content::Repetitive})
    for (const std::size_t size : kSizes) {
      const std::vector<std::byte> data = content(size, kind);
      const Result<std::int64_t> written = write_datum_file(scratch.at("d"), key(1), data, Durably::Yes);
      ASSERT_TRUE(written);
      EXPECT_EQ(static_cast<std::uintmax_t>(*written), std::filesystem::file_size(scratch.at("d")));
      if (kind == Content::Repetitive && size > 10'000) {
        EXPECT_LT(*written, static_cast<std::int64_t>(size / 4)) << "not compressed";
      }
      std::vector<std::byte> back;
      ASSERT_TRUE(read_back(scratch.at("d"), back));
      EXPECT_EQ(back, data);
    }
}

TEST(DatumFile, EveryFlippedByteAndEveryCutIsNoticed) {
  const ScratchDirectory scratch;
  for (const Content kind : {Content::Random, Content::Repetitive}) {
    ASSERT_TRUE(write_datum_file(scratch.at("d"), key(1), content(3000, kind), Durably::No));
    const std::string whole = scratch.read("d");
    std::vector<std::byte> back;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      scratch.write("x", damaged);
      EXPECT_EQ(read_back(scratch.at("x"), back).has_value(), false) << at;
      if (at % 16 != 0) continue;
      scratch.write("x", whole.substr(0, at));
      EXPECT_EQ(read_back(scratch.at("x"), back).has_value(), false) << "cut at " << at;
    }
  }
}

TEST(DatumFile, AChunkInThePlaceOfAnotherAndAnotherDatumAreNoticed) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(write_datum_file(scratch.at("d"), key(1), content(2 << 20, Content::Random), Durably::No));
  std::string file = scratch.read("d");
  const std::size_t chunk = (std::size_t{1} << 20U) + 16;
  const std::size_t head = file.size() - 2 * chunk;
  file = file.substr(0, head) + file.substr(head + chunk) + file.substr(head, chunk);
  scratch.write("swapped", file);
  std::vector<std::byte> back;
  EXPECT_EQ(read_back(scratch.at("swapped"), back).error().code, ErrorCode::StorageDamaged);
  ASSERT_TRUE(write_datum_file(scratch.at("other"), key(7), content(100, Content::Random), Durably::No));
  EXPECT_EQ(read_back(scratch.at("other"), back).error().code, ErrorCode::StorageDamaged);
  EXPECT_EQ(read_back(scratch.at("missing"), back).error().code, ErrorCode::StorageDamaged);
}

TEST(DatumFile, APlaceThatCannotBeUsedIsRefused) {
  const ScratchDirectory scratch;
  scratch.write("file", "");
  const auto refused = write_datum_file(scratch.at("file/x"), key(1), content(10, Content::Random), Durably::No);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  // A link does not make us write to its target.
  std::filesystem::create_symlink(scratch.at("file"), scratch.at("link"));
  EXPECT_FALSE(write_datum_file(scratch.at("link"), key(1), content(10, Content::Random), Durably::No));
  EXPECT_EQ(scratch.read("file"), "");
}

/// Work of the disk that begins when the test says so.
class HeldWork final : public BlockingWork {
 public:
  bool has_thread() override { return true; }
  void add(Turn, std::function<void()> work) override { waiting_.push_back(std::move(work)); }
  void quiesce() override { waiting_.clear(); }
  void run() {
    for (const std::function<void()>& work : std::exchange(waiting_, {})) work();
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  std::vector<std::function<void()>> waiting_;
};

TEST(Spill, ADatumGoesToDiskAndComesBack) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  const auto data = content(3'500'000, Content::Random);
  store.put(key(1), blob_of(store, data));
  ASSERT_TRUE(spill(store, 1));
  EXPECT_TRUE(same(store.find(key(1)), data));
  store.release(key(1));
  EXPECT_EQ(store.find(key(1)), nullptr);
  EXPECT_EQ(store.used(), Bytes{0});
  EXPECT_GT(store.used_on_disk(), Bytes{3'500'000});
  EXPECT_TRUE(same(store.load_now(key(1)), data));
  EXPECT_EQ(store.find(key(1)), nullptr);
  ASSERT_TRUE(restore(store, 1));
  EXPECT_TRUE(same(store.find(key(1)), data));
  EXPECT_NE(store.find(key(1))->segment(), nullptr);
  store.drop(key(1));
  store.put(key(2), blob_of(store, data));
  ASSERT_TRUE(spill(store, 2));  // Behind the drop.
  store.drop(key(2));
  EXPECT_EQ(spill(store, 3).error().code, ErrorCode::NotFound);
  EXPECT_EQ(files_under(scratch.at("spill")), std::vector<std::string>{});
}

TEST(Spill, ADamagedFileIsNoDatum) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  store.put(key(1), blob_of(store, content(5000, Content::Random)));
  ASSERT_TRUE(spill(store, 1));
  store.release(key(1));
  const auto files = files_under(scratch.at("spill"));
  ASSERT_EQ(files.size(), 1U);
  ASSERT_EQ(::truncate(files[0].c_str(), 4000), 0);
  EXPECT_EQ(store.load_now(key(1)), nullptr);
  EXPECT_FALSE(restore(store, 1));
  EXPECT_EQ(store.find(key(1)), nullptr);
  EXPECT_EQ(store.used_on_disk(), Bytes{0});
}

TEST(Spill, TheLimitOfTheDiskIsKeptToTheByte) {
  const ScratchDirectory scratch;
  StoreOptions options = options_in(scratch);
  options.spill.bytes_max = Bytes{5000};
  ObjectStore store{options};
  store.put(key(1), blob_of(store, content(5001, Content::Random)));
  EXPECT_EQ(spill(store, 1).error().code, ErrorCode::StorageFull);
  store.put(key(2), blob_of(store, content(5000, Content::Random)));
  EXPECT_TRUE(spill(store, 2));
  store.put(key(3), blob_of(store, content(10, Content::Random)));
  EXPECT_EQ(spill(store, 3).error().code, ErrorCode::StorageFull);
  store.drop(key(2));
  EXPECT_EQ(spill(store, 4).error().code, ErrorCode::NotFound);  // The drop has been done before it.
  EXPECT_TRUE(spill(store, 3));
}

TEST(Spill, WhatIsDroppedWhileItIsRestoredStaysAway) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  store.put(key(1), blob_of(store, content(2'000'000, Content::Random)));
  ASSERT_TRUE(spill(store, 1));
  store.release(key(1));
  const auto disk = std::make_shared<HeldWork>();
  store.use_disk_on(disk);
  bool done = false;
  store.restore(key(1), [&](const Result<void>&) { done = true; });
  store.drop(key(1));
  disk->run();
  EXPECT_TRUE(done);
  EXPECT_EQ(store.find(key(1)), nullptr);
}

// Found by seed 30003925 of the simulator: a subtask runs again while what it has made is on its way back.
TEST(Spill, WhatIsMadeAnewWhileItIsRestoredStays) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  store.put(key(1), blob_of(store, content(2'000'000, Content::Random)));
  ASSERT_TRUE(spill(store, 1));
  store.release(key(1));
  const auto disk = std::make_shared<HeldWork>();
  store.use_disk_on(disk);
  bool restored = false;
  store.restore(key(1), [&](const Result<void>& result) { restored = result.has_value(); });
  const auto anew = content(2'000'000, Content::Repetitive);
  store.put(key(1), blob_of(store, anew));
  disk->run();
  EXPECT_TRUE(restored);
  EXPECT_TRUE(same(store.find(key(1)), anew));
}

TEST(Spill, WorkOfTheDiskThatWaitsIsAbandonedByAnEmptyStore) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  const auto disk = std::make_shared<HeldWork>();
  store.use_disk_on(disk);
  store.put(key(1), blob_of(store, content(5000, Content::Random)));
  store.spill(key(1), [](const Result<void>&) { ADD_FAILURE() << "answered"; });
  store.clear();
  disk->run();
  EXPECT_EQ(files_under(scratch.at("spill")), std::vector<std::string>{});
}

TEST(Spill, TheDropOfADatumWithoutAFileIsNoWorkOfTheDisk) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  for (const std::uint32_t subtask : {1, 2}) store.put(key(subtask), blob_of(store, content(5000, Content::Random)));
  ASSERT_TRUE(spill(store, 1));
  const auto disk = std::make_shared<HeldWork>();
  store.use_disk_on(disk);
  store.drop(key(2));
  EXPECT_EQ(disk->waiting(), 0U);
  store.drop(key(1));
  EXPECT_EQ(disk->waiting(), 1U);
  disk->run();
  EXPECT_EQ(files_under(scratch.at("spill")), std::vector<std::string>{});
}

// Fault F42: files that a killed worker has left are reclaimed; files that another one uses are not.
TEST(Spill, OrphansOfKilledWorkersAreRemovedAndOthersAreLeftAlone) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch.at("spill/penstock-spill-orphan"));
  scratch.write("spill/penstock-spill-orphan/1-1-0", "left behind");
  std::filesystem::create_directories(scratch.at("spill/of-somebody-else"));
  ObjectStore other{options_in(scratch)};
  other.put(key(1), blob_of(other, content(5000, Content::Random)));
  ASSERT_TRUE(spill(other, 1));
  EXPECT_FALSE(std::filesystem::exists(scratch.at("spill/penstock-spill-orphan")));
  {
    ObjectStore store{options_in(scratch)};
    store.put(key(2), blob_of(store, content(5000, Content::Random)));
    ASSERT_TRUE(spill(store, 2));
    EXPECT_EQ(files_under(scratch.at("spill")).size(), 2U);
  }
  EXPECT_EQ(files_under(scratch.at("spill")).size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(scratch.at("spill/of-somebody-else")));
  other.release(key(1));
  EXPECT_NE(other.load_now(key(1)), nullptr);
}

TEST(Spill, APreparedStoreRemovesOrphansBeforeItSpills) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch.at("spill/penstock-spill-orphan"));
  ObjectStore store{options_in(scratch)};
  ASSERT_TRUE(store.prepare_spill());
  EXPECT_FALSE(std::filesystem::exists(scratch.at("spill/penstock-spill-orphan")));
}

TEST(Spill, APlaceThatIsAFileIsRefusedWhenTheStoreIsPrepared) {
  const ScratchDirectory scratch;
  scratch.write("file", "here");
  for (const std::string& place : {scratch.at("file"), scratch.at("file/inside")}) {
    StoreOptions options;
    options.spill.place = place;
    options.checkpoints = place;
    ObjectStore store{options};
    for (const Result<void>& prepared : {store.prepare_spill(), store.prepare_checkpoints()}) {
      ASSERT_FALSE(prepared);
      EXPECT_EQ(prepared.error().code, ErrorCode::InvalidArgument);
      EXPECT_EQ(prepared.error().subject, place);
    }
  }
}

TEST(Checkpoint, TryingTheDirectoryLeavesNothingInIt) {
  const ScratchDirectory scratch;
  StoreOptions options;
  options.checkpoints = scratch.at("shared");
  EXPECT_TRUE(ObjectStore{options}.prepare_checkpoints());
  EXPECT_TRUE(std::filesystem::is_empty(scratch.at("shared")));
  EXPECT_TRUE(ObjectStore{}.prepare_checkpoints());
}

TEST(Checkpoint, AnotherWorkerReadsWhatOneHasPutOnSharedStorage) {
  const ScratchDirectory scratch;
  const auto data = content(100'000, Content::Repetitive);
  {
    ObjectStore writer{options_in(scratch)};
    writer.put(key(1), blob_of(writer, data));
    ASSERT_TRUE(answer([&](auto done) { writer.checkpoint(key(1), Incarnation{77}, done); }));
    writer.clear();  // Its life is over; the copy stays.
  }
  ObjectStore heir{options_in(scratch)};
  EXPECT_EQ(heir.load_now(key(1)), nullptr);
  heir.adopt_checkpoint(key(1), Incarnation{77});
  ASSERT_TRUE(restore(heir, 1));
  EXPECT_TRUE(same(heir.find(key(1)), data));
  heir.drop(key(1));
  heir.put(key(2), blob_of(heir, data));
  ASSERT_TRUE(spill(heir, 2));
  EXPECT_EQ(files_under(scratch.at("shared")), std::vector<std::string>{});
}

TEST(Checkpoint, ThoseOfAnotherLifeAreRemovedAllTogether) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  store.put(key(1), blob_of(store, content(1000, Content::Repetitive)));
  const auto checkpoint_as = [&](std::uint64_t life) {
    return answer([&](auto done) { store.checkpoint(key(1), Incarnation{life}, done); });
  };
  ASSERT_TRUE(checkpoint_as(77));
  store.remove_checkpoints(Incarnation{77});
  store.remove_checkpoints(Incarnation{79});  // Incarnation 79 left nothing.
  ASSERT_TRUE(checkpoint_as(78));             // Done in turn.
  EXPECT_FALSE(std::filesystem::exists(scratch.at("shared") + "/penstock-checkpoints-77"));
  EXPECT_EQ(files_under(scratch.at("shared")).size(), 1U);
}

TEST(Checkpoint, WhatAttemptsOfAJobHaveSavedIsRemovedAndNothingOfOthers) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  for (const char* key : {"job-1.17", "job-11.17"}) {
    const std::string directory = attempts_directory(scratch.at("shared"), key) + "/3";
    std::filesystem::create_directories(directory);
    std::ofstream{directory + "/state"} << "half";
  }
  store.remove_attempts("job-1.17");
  store.remove_attempts("job-2.17");  // Job 2 left nothing.
  store.put(key(1), blob_of(store, content(1000, Content::Repetitive)));
  ASSERT_TRUE(answer([&](auto done) { store.checkpoint(key(1), Incarnation{7}, done); }));  // Done in turn.
  EXPECT_FALSE(std::filesystem::exists(scratch.at("shared") + "/attempts/job-1.17"));
  EXPECT_TRUE(std::filesystem::exists(scratch.at("shared") + "/attempts/job-11.17/3/state"));
}

TEST(Checkpoint, ADamagedSpilledFileIsReplacedByTheCheckpoint) {
  const ScratchDirectory scratch;
  ObjectStore store{options_in(scratch)};
  const auto data = content(5000, Content::Random);
  store.put(key(1), blob_of(store, data));
  ASSERT_TRUE(spill(store, 1));
  ASSERT_TRUE(answer([&](auto done) { store.checkpoint(key(1), Incarnation{7}, done); }));
  store.release(key(1));
  ASSERT_EQ(::truncate(files_under(scratch.at("spill"))[0].c_str(), 10), 0);
  ASSERT_TRUE(restore(store, 1));
  EXPECT_TRUE(same(store.find(key(1)), data));
}

TEST(Checkpoint, WithoutSharedStorageItIsRefusedWithTheWayOut) {
  ObjectStore store;
  store.put(key(1), blob_of(store, content(10, Content::Random)));
  const Result<void> refused = answer([&](auto done) { store.checkpoint(key(1), Incarnation{7}, done); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().remedy.find("--checkpoints"), std::string::npos);
}

}  // namespace
}  // namespace penstock::worker
