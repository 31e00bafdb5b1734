#include "common/storage/rocksdb_storage.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "common/base/ids.hpp"
#include "common/storage/rocksdb_pieces.hpp"
#include "tests/support/storage_contract.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// A directory of its own for each test, gone with it.
struct TestDirectory {
  TestDirectory() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string{test->test_suite_name()} + "." + test->name();
    std::replace(name.begin(), name.end(), '/', '_');
    path = fs::temp_directory_path() / ("penstock_rocksdb_" + name);
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~TestDirectory() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  RocksdbOptions options() const { return {.directory = path / "state", .owner = "host h pid 7"}; }
  fs::path path;
};

std::unique_ptr<Storage> must_open(const RocksdbOptions& options) {
  Result<std::unique_ptr<Storage>> opened = RocksdbStorage::open(options);
  EXPECT_TRUE(opened.has_value()) << to_string(opened.error());
  return opened ? std::move(opened).value() : nullptr;
}

struct OnDisk : StorageUnderTest {
  OnDisk() { disk = must_open(directory.options()); }
  Storage& storage() override { return *disk; }
  void reopen() override {
    disk.reset();
    disk = must_open(directory.options());
  }
  TestDirectory directory;
  std::unique_ptr<Storage> disk;
};

INSTANTIATE_TEST_SUITE_P(Rocksdb, StorageContract,
                         ::testing::Values(StorageMaker{[] { return std::make_unique<OnDisk>(); }}));

// Fault F11: on a full disk its second line would end the process.
TEST(RocksdbStorage, RocksdbWritesNoTextBesideTheData) {
  const TestDirectory directory;
  const auto storage = must_open(directory.options());
  StorageBatch batch;
  batch.put("key", "value");
  ASSERT_TRUE(storage->commit(batch, Sync::Yes).has_value());
  EXPECT_FALSE(fs::exists(directory.path / "state" / "LOG"));
}

// Fault F08.
TEST(RocksdbStorage, ASecondOwnerIsToldWhoTheFirstIs) {
  const TestDirectory directory;
  const auto first = must_open(directory.options());
  const Result<std::unique_ptr<Storage>> second =
      RocksdbStorage::open({.directory = directory.path / "state", .owner = "another"});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::StorageLocked);
  EXPECT_NE(second.error().message.find("host h pid 7"), std::string::npos) << to_string(second.error());
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(directory.options());
  ASSERT_FALSE(salvaged.has_value());
  EXPECT_EQ(salvaged.error().code, ErrorCode::StorageLocked);
}

TEST(RocksdbStorage, WhatIsClosedRefusesWithAnError) {
  const TestDirectory directory;
  const auto storage = must_open(directory.options());
  ASSERT_TRUE(storage->close().has_value());
  EXPECT_EQ(storage->get("a").error().code, ErrorCode::WrongState);
  EXPECT_TRUE(storage->close().has_value());
}

/// Many entries that fill several blocks; their values do not compress to nothing.
void fill(const RocksdbOptions& options, std::size_t count) {
  const auto storage = must_open(options);
  for (std::size_t i = 0; i < count; ++i) {
    StorageBatch batch;
    std::string value(200, '\0');
    std::uint64_t state = i * 7919 + 1;
    for (char& c : value) c = static_cast<char>((state = mix_bits(state)) & 0xffU);
    batch.put("key-" + std::to_string(100000 + i), value);
    ASSERT_TRUE(storage->commit(batch, Sync::No).has_value());
  }
}

std::vector<fs::path> files_with(const fs::path& directory, const std::string& extension) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator{directory})
    if (entry.path().extension() == extension) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

void flip_bit(const fs::path& path, std::size_t at) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekg(static_cast<std::streamoff>(at));
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

Result<std::size_t> count_entries(const RocksdbOptions& options) {
  Result<std::unique_ptr<Storage>> opened = RocksdbStorage::open(options);
  if (!opened) return opened.error();
  std::size_t count = 0;
  if (Result<void> scanned = (*opened)->scan("", [&](std::string_view, std::string_view) { return ++count > 0; });
      !scanned)
    return scanned.error();
  return count;
}

// Fault F13.
TEST(RocksdbStorage, ADamagedBlockIsRefusedAndSalvagedUpToThatBlock) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  fill(options, 2000);
  ASSERT_EQ(count_entries(options).value(), 2000U);  // Opening has written the log to a sorted file.
  const std::vector<fs::path> tables = files_with(options.directory, ".sst");
  ASSERT_FALSE(tables.empty());
  flip_bit(tables.front(), fs::file_size(tables.front()) / 2);
  const Result<std::size_t> refused = count_entries(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::StorageDamaged);
  EXPECT_NE(refused.error().remedy.find("--salvage"), std::string::npos);
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_EQ(salvaged->gaps, 1U);
  EXPECT_GE(salvaged->entries_kept, 1950U);
  EXPECT_LT(salvaged->entries_kept, 2000U);
  EXPECT_EQ(count_entries(options).value(), salvaged->entries_kept);
  EXPECT_TRUE(fs::exists(salvaged->damaged_directory));
}

TEST(RocksdbStorage, ADamagedBlockCostsOnePrefixWhereTheyAreKeptApart) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  options.apart_bytes = std::string_view{"key-10000"}.size();  // Ten entries each, of less than a block.
  fill(options, 2000);
  ASSERT_EQ(count_entries(options).value(), 2000U);
  const std::vector<fs::path> tables = files_with(options.directory, ".sst");
  flip_bit(tables.front(), fs::file_size(tables.front()) / 2);
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_EQ(salvaged->entries_kept, 1990U);
}

TEST(RocksdbStorage, ADamagedFirstBlockCostsThatBlockOnly) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  fill(options, 2000);
  ASSERT_EQ(count_entries(options).value(), 2000U);
  flip_bit(files_with(options.directory, ".sst").front(), 100);
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_GE(salvaged->entries_kept, 1950U);
}

// Fault F13 on a busy machine: where the list of files names a log that had been ended and not yet been merged, reading
// the list ended the process.
TEST(RocksdbStorage, AStateOfTwoLogsCanBeSalvaged) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  options.young_bytes = 64 << 10;
  RocksdbOptions image = options;
  image.directory = directory.path / "image";
  const auto storage = must_open(options);
  int images = 0;
  for (std::uint64_t i = 0; i < 3000 && images < 20; ++i) {
    StorageBatch batch;
    std::string value(16 << 10, '\0');
    std::uint64_t state = i + 1;
    for (char& c : value) c = static_cast<char>((state = mix_bits(state)) & 0xffU);
    batch.put("key-" + std::to_string(i), value);
    ASSERT_TRUE(storage->commit(batch, Sync::Yes).has_value());
    if (files_with(options.directory, ".log").size() < 2) continue;
    std::error_code code;
    fs::remove_all(image.directory);
    fs::copy(options.directory, image.directory, fs::copy_options::recursive, code);
    if (code) continue;  // A file has gone meanwhile.
    const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(image);
    ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
    EXPECT_GT(salvaged->entries_kept, 0U);
    fs::remove_all(salvaged->damaged_directory);
    ++images;
  }
  EXPECT_GT(images, 0);
}

TEST(RocksdbStorage, ALostListOfFilesCostsNothingThatIsReadable) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  fill(options, 2000);
  ASSERT_EQ(count_entries(options).value(), 2000U);
  flip_bit(files_with(options.directory, ".sst").front(), 50000);
  for (const auto& entry : fs::directory_iterator{options.directory})
    if (entry.path().filename().string().starts_with("MANIFEST")) fs::resize_file(entry.path(), 10);
  EXPECT_EQ(count_entries(options).error().code, ErrorCode::StorageDamaged);
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_GE(count_entries(options).value(), 1950U);
}

/// So many that files are merged, in no order, some again and some erased. `told` is what must be there then.
void fill_in_disorder(const RocksdbOptions& options, std::map<std::string, std::string>& told) {
  const auto storage = must_open(options);
  for (std::uint64_t i = 0; i < 40000; ++i) {
    StorageBatch batch;
    const std::string key = "key-" + std::to_string(mix_bits(i) % 9000);
    if (mix_bits(~i) % 8 == 0) {
      batch.erase(key);
      told.erase(key);
    } else {
      std::string value(200, '\0');
      std::uint64_t state = i + 1;
      for (char& c : value) c = static_cast<char>((state = mix_bits(state)) & 0xffU);
      told[key] = value;
      batch.put(key, std::move(value));
    }
    ASSERT_TRUE(storage->commit(batch, Sync::No).has_value());
  }
}

// Files of different ages overlap once some were merged; a repair that objects to that has nothing to show, and what
// opens behind it takes the files for rubbish.
TEST(RocksdbStorage, WithoutTheListOfMergedFilesNothingIsLost) {
  for (const char* name : {"CURRENT", "MANIFEST"}) {
    const TestDirectory directory;
    RocksdbOptions options = directory.options();
    options.memory_bytes = 64 << 10;
    std::map<std::string, std::string> told;
    fill_in_disorder(options, told);
    for (const auto& entry : fs::directory_iterator{options.directory})
      if (entry.path().filename().string().starts_with(name)) {
        const std::uintmax_t size = fs::file_size(entry.path());
        fs::resize_file(entry.path(), 0);
        fs::resize_file(entry.path(), size);
      }
    EXPECT_EQ(count_entries(options).error().code, ErrorCode::StorageDamaged) << name;
    const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
    ASSERT_TRUE(salvaged.has_value()) << name << ": " << to_string(salvaged.error());
    std::map<std::string, std::string> found;
    ASSERT_TRUE(must_open(options)->scan(
        "", [&](std::string_view key, std::string_view value) { return found.emplace(key, value).second; }));
    EXPECT_EQ(found == told, true) << name << ": " << found.size() << " of " << told.size();
    EXPECT_FALSE(files_with(salvaged->damaged_directory, ".sst").empty()) << name;
  }
}

/// Groups of a hundred keys each of which a file has something.
std::vector<std::set<std::string>> groups_by_file(const fs::path& directory) {
  std::vector<std::set<std::string>> found;
  for (const fs::path& table : files_with(directory, ".sst")) {
    std::ifstream file{table, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    std::set<std::string>& groups = found.emplace_back();
    read_table_pieces(bytes, [&](const Piece& piece) { groups.emplace(piece.key.substr(0, 8)); });
  }
  return found;
}

TEST(RocksdbStorage, AMergedFileHasOneGroupOfPrefixesAndItsLossCostsNoMore) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  options.memory_bytes = 64 << 10;  // Of three groups.
  options.apart_bytes = std::string_view{"key-1000"}.size();
  options.apart_in_files = 1;
  // Fifty write buffers: the database makes the writer wait before 36 of them are there and not merged.
  fill(options, 16000);
  ASSERT_EQ(count_entries(options).value(), 16000U);
  const std::vector<std::set<std::string>> files = groups_by_file(options.directory);
  const auto has_one = [](const std::set<std::string>& groups) { return groups.size() == 1; };
  ASSERT_GE(std::count_if(files.begin(), files.end(), has_one), 20);
  const auto lost = std::find_if(files.begin(), files.end(), has_one) - files.begin();
  fs::remove(files_with(options.directory, ".sst")[static_cast<std::size_t>(lost)]);
  EXPECT_EQ(count_entries(options).error().code, ErrorCode::StorageDamaged);
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_EQ(salvaged->gaps, 1U);
  EXPECT_GE(salvaged->entries_kept, 15900U);
  EXPECT_LT(salvaged->entries_kept, 16000U);
}

// Fault F13: entries that are not merged yet have the order of time, and a file has all that were written then.
TEST(RocksdbStorage, AYoungFileHasNoMoreThanItMayAndItsLossCostsNoMore) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  options.memory_bytes = 1 << 20;
  options.young_bytes = 64 << 10;
  fill(options, 16000);
  const std::vector<fs::path> files = files_with(options.directory, ".sst");
  ASSERT_GE(files.size(), 20U);
  const auto size_of = [](const fs::path& file) { return fs::file_size(file); };
  fs::remove(*std::max_element(files.begin(), files.end(),
                               [&](const fs::path& a, const fs::path& b) { return size_of(a) < size_of(b); }));
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_LT(salvaged->entries_kept, 16000U);
  EXPECT_GE(salvaged->entries_kept, 15000U);
}

/// Where the entries of a list of files end: each has four bytes of checksum, two of its length, and its type before
/// it.
std::vector<std::uintmax_t> ends_of_entries(const fs::path& list) {
  std::ifstream file{list, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::uintmax_t> ends;
  for (std::size_t at = 0; at + 7 <= bytes.size();) {
    at +=
        7 + static_cast<unsigned char>(bytes[at + 4]) + (std::size_t{static_cast<unsigned char>(bytes[at + 5])} << 8U);
    ends.push_back(at);
  }
  return ends;
}

// Fault F13: each entry is whole, and a list with fewer of them is a list; what it does not name any more is deleted.
TEST(RocksdbStorage, AListOfFilesThatIsCutBetweenTwoEntriesIsNoticed) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  options.memory_bytes = 64 << 10;
  fill(options, 2000);
  std::string name;
  std::ifstream{fs::path{options.directory} / "CURRENT"} >> name;
  const fs::path list = fs::path{options.directory} / name;
  const std::vector<std::uintmax_t> ends = ends_of_entries(list);
  ASSERT_GE(ends.size(), 5U);
  ASSERT_EQ(ends.back(), fs::file_size(list));
  RocksdbOptions cut = options;
  cut.directory = directory.path / "cut";
  const auto cut_at = [&](std::uintmax_t end) {
    fs::remove_all(cut.directory);
    fs::copy(options.directory, cut.directory, fs::copy_options::recursive);
    fs::resize_file(fs::path{cut.directory} / list.filename(), end);
  };
  for (const std::uintmax_t end : ends) {
    cut_at(end);
    const Result<std::size_t> found = count_entries(cut);
    if (found) {
      EXPECT_EQ(found.value(), 2000U) << "cut at " << end << " of " << ends.back();
      continue;
    }
    EXPECT_EQ(found.error().code, ErrorCode::StorageDamaged) << to_string(found.error());
    const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(cut);
    ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
    EXPECT_EQ(salvaged->entries_kept, 2000U) << "cut at " << end << " of " << ends.back();
    // Logs that do not go on where the list ends tell the same where nobody has noted its length.
    cut_at(end);
    fs::remove(fs::path{cut.directory} / "MANIFEST.LENGTH");
    EXPECT_EQ(RocksdbStorage::salvage(cut)->entries_kept, 2000U) << "cut at " << end << " of " << ends.back();
  }
}

// RocksDB passes over a page from where it has zeros: files that are listed behind them would be deleted.
TEST(RocksdbStorage, AListOfFilesWithZerosInItIsNoticed) {
  const TestDirectory directory;
  const RocksdbOptions options = directory.options();
  fill(options, 2000);
  count_entries(options).value();  // Makes a sorted file of the log, and lists it.
  const fs::path list = [&] {
    for (const auto& entry : fs::directory_iterator{options.directory})
      if (entry.path().filename().string().starts_with("MANIFEST-")) return entry.path();
    return fs::path{};
  }();
  const std::uintmax_t size = fs::file_size(list);
  for (std::uintmax_t at = 0; at < size; at += 7) {
    fs::remove_all(directory.path / "zeroed");
    fs::copy(options.directory, directory.path / "zeroed", fs::copy_options::recursive);
    RocksdbOptions zeroed = options;
    zeroed.directory = directory.path / "zeroed";
    {
      std::fstream file{directory.path / "zeroed" / list.filename(), std::ios::in | std::ios::out | std::ios::binary};
      file.seekp(static_cast<std::streamoff>(at));
      file << std::string(size - at, '\0');
    }
    const auto opened = RocksdbStorage::open(zeroed);
    ASSERT_FALSE(opened.has_value()) << "zeros from " << at << " of " << size;
    EXPECT_EQ(opened.error().code, ErrorCode::StorageDamaged) << to_string(opened.error());
  }
}

TEST(RocksdbStorage, WhatWasErasedStaysAwayWithoutTheListOfFiles) {
  const TestDirectory directory;
  const RocksdbOptions options = directory.options();
  fill(options, 2000);
  {
    const auto storage = must_open(options);
    StorageBatch batch;
    batch.erase_prefix("key-1010");
    batch.put("key-101005", "new");
    batch.erase("key-100007");
    ASSERT_TRUE(storage->commit(batch, Sync::Yes).has_value());
  }
  for (const auto& entry : fs::directory_iterator{options.directory})
    if (entry.path().filename().string().starts_with("MANIFEST")) fs::remove(entry.path());
  ASSERT_TRUE(RocksdbStorage::salvage(options).has_value());
  const auto storage = must_open(options);
  EXPECT_EQ(storage->get("key-101005").value(), std::optional<std::string>{"new"});
  EXPECT_FALSE(storage->get("key-101006").value().has_value());
  EXPECT_FALSE(storage->get("key-100007").value().has_value());
  EXPECT_TRUE(storage->get("key-100008").value().has_value());
}

TEST(RocksdbStorage, SalvageOfWhatIsIntactSaysSo) {
  const TestDirectory directory;
  const RocksdbOptions options = directory.options();
  fill(options, 500);
  ASSERT_EQ(count_entries(options).value(), 500U);
  fill(options, 700);
  const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
  ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
  EXPECT_EQ(salvaged->gaps, 0U);
  EXPECT_EQ(salvaged->entries_kept, 700U);
}

// A log that is not the newest was ended in good order: one that is cut, or gone, is damage and no torn tail.
TEST(RocksdbStorage, ALostMiddleOfTheLogsIsCounted) {
  for (const bool is_gone : {false, true}) {
    const TestDirectory directory;
    const RocksdbOptions options = directory.options();
    fill(options, 300);
    const fs::path log = files_with(options.directory, ".log").back();
    fs::copy(options.directory, directory.path / "both", fs::copy_options::recursive);
    fill(options, 300);  // Goes on in another log, with the numbers behind.
    fs::copy_file(files_with(options.directory, ".log").back(),
                  directory.path / "both" / files_with(options.directory, ".log").back().filename());
    RocksdbOptions both = options;
    both.directory = directory.path / "both";
    const fs::path older = directory.path / "both" / log.filename();
    if (is_gone)
      fs::remove(older);
    else
      fs::resize_file(older, fs::file_size(older) / 2);
    const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(both);
    ASSERT_TRUE(salvaged.has_value()) << to_string(salvaged.error());
    EXPECT_GE(salvaged->gaps, 1U) << is_gone;
    EXPECT_EQ(salvaged->entries_kept, 300U) << is_gone;
  }
}

TEST(RocksdbStorage, ATornTailIsNoDamage) {
  const TestDirectory directory;
  RocksdbOptions options = directory.options();
  fill(options, 100);
  const fs::path log = files_with(options.directory, ".log").back();
  fs::resize_file(log, fs::file_size(log) - 5);
  EXPECT_EQ(count_entries(options).value(), 99U);
}

TEST(RocksdbStorage, SalvageStartsWhateverIsDamaged) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    const TestDirectory directory;
    RocksdbOptions options = directory.options();
    options.memory_bytes = 100'000;  // Several sorted files and a log.
    fill(options, 1000);
    std::uint64_t state = seed;
    for (const auto& entry : fs::directory_iterator{options.directory}) {
      const std::uintmax_t size = fs::file_size(entry.path());
      state = mix_bits(state);
      if (size == 0 || state % 2 == 0) continue;
      if (state % 3 == 0)
        fs::resize_file(entry.path(), mix_bits(state) % size);
      else
        flip_bit(entry.path(), mix_bits(state) % size);
    }
    const Result<SalvageOutcome> salvaged = RocksdbStorage::salvage(options);
    ASSERT_TRUE(salvaged.has_value()) << "seed " << seed << ": " << to_string(salvaged.error());
    EXPECT_TRUE(count_entries(options).has_value()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace penstock
