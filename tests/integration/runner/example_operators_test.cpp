// The shared libraries of examples/operators, as a worker uses them.
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>

#include "tests/support/scratch_directory.hpp"
#include "worker/runner/native/native_lanes.hpp"
#include "worker/runner/native/operator_registry.hpp"

#ifdef __SANITIZE_THREAD__
// How the threads of TBB meet inside its library is invisible to the sanitizer.
extern "C" const char* __tsan_default_suppressions() { return "race:tbb::detail\nrace:libtbb.so\n"; }
#endif

namespace penstock::worker {
namespace {

class ExampleOperators : public ::testing::Test {
 protected:
  ExampleOperators() {
    for (const char* library : {PENSTOCK_EXAMPLE_WORD_COUNT, PENSTOCK_EXAMPLE_COUNT_PRIMES}) {
      const Result<void> loaded = registry.load(library);
      EXPECT_TRUE(loaded.has_value()) << to_string(loaded.error());
    }
  }

  /// Runs one operator to its end; what it wrote to output 0.
  std::string run(const std::string& name, const std::string& payload, std::vector<DataKey> inputs = {},
                  std::int64_t milli_slots = 1000) {
    program.request.slots = MilliSlots{milli_slots};
    program.output_count = 2;
    NativeRun what;
    what.program = &program;
    what.id = {JobId{1}, SubtaskIndex{++runs}};
    what.attempt = Attempt{1};
    what.function = registry.find(name).run;
    what.payload = payload;
    std::unique_lock lock{mutex};
    ended = false;
    lanes.start(SlotIndex{0}, what, std::move(inputs));
    lanes.open_offers();
    EXPECT_TRUE(news.wait_for(lock, std::chrono::seconds{30}, [&] { return ended; }));
    std::vector<NativeEnd> ends;
    lanes.withdraw(ends);
    EXPECT_EQ(ends.size(), 1U);
    if (!ends.empty()) end = std::move(ends.front());
    return text_at({what.id, 0});
  }
  std::string text_at(const DataKey& key) {
    const BlobPtr blob = store.find(key);
    return blob == nullptr ? std::string{}
                           : std::string{reinterpret_cast<const char*>(blob->bytes().data()), blob->bytes().size()};
  }
  void put(const DataKey& key, const std::string& text) {
    const auto blob = Blob::allocate(text.size());
    std::memcpy(blob->data(), text.data(), text.size());
    store.put(key, blob);
  }
  std::string second_output() { return text_at({{JobId{1}, SubtaskIndex{runs}}, 1}); }

  OperatorRegistry registry;
  ObjectStore store;
  Template program;
  std::uint32_t runs = 0;
  std::mutex mutex;  // Guards what the lane's thread tells.
  std::condition_variable news;
  bool ended = false;
  NativeEnd end;
  NativeLanes lanes{store, {}, [this] {
                      const std::lock_guard lock{mutex};
                      ended = true;
                      news.notify_one();
                    }};
};

TEST_F(ExampleOperators, WordsOfInputsAreCounted) {
  const DataKey first{{JobId{9}, SubtaskIndex{1}}, 0};
  const DataKey second{{JobId{9}, SubtaskIndex{2}}, 0};
  put(first, "one two\n three");
  put(second, "four\t");
  EXPECT_EQ(run("word_count", "", {first, DataKey{}, second}), "4\n");
}

TEST_F(ExampleOperators, WordsOfAFileAreCounted) {
  const ScratchDirectory scratch;
  const std::string path = scratch.at("words.txt");
  std::ofstream{path} << "a b\nc " << std::string(100'000, 'x') << " d\n";
  EXPECT_EQ(run("word_count", path), "5\n");
}

TEST_F(ExampleOperators, FailureTellsWhy) {
  EXPECT_EQ(run("word_count", "/no/such/file"), "");
  ASSERT_NE(end.failure, nullptr);
  EXPECT_EQ(end.failure->failure, FailureClass::UserError);
  EXPECT_EQ(end.failure->message, "the file of the payload cannot be read");
}

TEST_F(ExampleOperators, TbbInsideIsConfinedToTheSlots) {
  EXPECT_EQ(run("count_primes", "100000"), "9592\n");
  EXPECT_EQ(second_output(), "1\n") << "one slot, one thread";
  EXPECT_EQ(run("count_primes", "100000", {}, 2000), "9592\n");
  EXPECT_TRUE(second_output() == "1\n" || second_output() == "2\n") << second_output();
}

TEST_F(ExampleOperators, LibraryIsLoadedOnce) {
  const Result<void> again = registry.load(PENSTOCK_EXAMPLE_WORD_COUNT);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::DuplicateKey);
}

}  // namespace
}  // namespace penstock::worker
