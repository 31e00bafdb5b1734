#include "common/storage/rocksdb_pieces.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/rng.hpp"
#include "common/storage/rocksdb_storage.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntries = 2000;

std::string key_of(std::size_t i) { return "key-" + std::to_string(100000 + i); }

/// Every third compresses; every hundredth is larger than a page of the log.
std::string value_of(std::size_t i) {
  std::string value(i % 100 == 0 ? 50'000 : 200, 'x');
  std::uint64_t state = i * 7919 + 1;
  for (char& c : value)
    if (i % 3 != 0) c = static_cast<char>((state = mix_bits(state)) & 0xffU);
  return value;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

fs::path largest(const fs::path& directory, const std::string& extension) {
  fs::path found;
  for (const auto& entry : fs::directory_iterator{directory})
    if (entry.path().extension() == extension && (found.empty() || entry.file_size() > fs::file_size(found)))
      found = entry.path();
  return found;
}

class RocksdbPieces : public ::testing::Test {
 protected:
  std::unique_ptr<Storage> open() {
    Result<std::unique_ptr<Storage>> opened = RocksdbStorage::open({.directory = scratch.at("state"), .owner = "test"});
    EXPECT_TRUE(opened.has_value());
    return std::move(opened).value();
  }
  /// The log of `kEntries` batches of one value each, and of one that erases the keys that begin with `erased-`.
  std::string log() {
    {
      const auto storage = open();
      for (std::size_t i = 0; i < kEntries; ++i) {
        StorageBatch batch;
        batch.put(key_of(i), value_of(i));
        EXPECT_TRUE(storage->commit(batch, Sync::No).has_value());
      }
      StorageBatch batch;
      batch.erase_prefix("erased-");
      EXPECT_TRUE(storage->commit(batch, Sync::No).has_value());
    }
    return bytes_of(largest(scratch.at("state"), ".log"));
  }
  /// The same, when the next life has written it to a sorted file.
  std::string table() {
    static_cast<void>(log());
    open();
    return bytes_of(largest(scratch.at("state"), ".sst"));
  }
  PieceVisit collect() {
    return [this](const Piece& piece) {
      ranges += piece.kind == Piece::Kind::ErasedRange ? 1 : 0;
      if (piece.kind != Piece::Kind::Value) return;
      EXPECT_EQ(piece.sequence, found.size() + 1);
      found[std::string{piece.key}] = std::string{piece.value};
    };
  }
  /// How many there are; each is as it was written.
  std::size_t intact() const {
    for (std::size_t i = 0; i < kEntries; ++i)
      if (const auto at = found.find(key_of(i)); at != found.end()) {
        EXPECT_TRUE(at->second == value_of(i)) << i;
      }
    return found.size();
  }

  const ScratchDirectory scratch;
  std::map<std::string, std::string> found;
  std::size_t ranges = 0;
};

TEST_F(RocksdbPieces, ASortedFileIsReadWhole) {
  EXPECT_EQ(read_table_pieces(table(), collect()), kEntries + 1);
  EXPECT_EQ(intact(), kEntries);
  EXPECT_EQ(ranges, 1U);
}

TEST_F(RocksdbPieces, OfACutFileEveryBlockBeforeTheCutIsRead) {
  const std::string file = table();
  std::size_t before = 0;
  for (std::size_t tenths = 1; tenths < 10; ++tenths) {
    found.clear();
    read_table_pieces(std::string_view{file}.substr(0, file.size() * tenths / 10), collect());
    EXPECT_GT(intact(), before) << tenths;
    before = found.size();
  }
  EXPECT_GT(before, kEntries * 8 / 10);
}

TEST_F(RocksdbPieces, ADamagedBlockCostsNothingButItself) {
  const std::string file = table();
  std::map<std::string, std::string> written;
  for (std::size_t i = 0; i < kEntries; ++i) written[key_of(i)] = value_of(i);
  Rng rng{3};
  for (int round = 0; round < 50; ++round) {
    std::string damaged = file;
    char& byte = damaged[rng.below(file.size() * 9 / 10)];
    byte = static_cast<char>(byte ^ (1 << rng.below(8)));
    std::size_t read = 0;
    read_table_pieces(damaged, [&](const Piece& piece) {
      if (piece.kind != Piece::Kind::Value) return;
      ++read;
      EXPECT_TRUE(piece.value == written.at(std::string{piece.key})) << "round " << round << ", " << piece.key;
    });
    EXPECT_GE(read, kEntries - 70) << round;  // Of values that compress a block has some sixty.
    EXPECT_LT(read, kEntries) << round;
  }
}

TEST_F(RocksdbPieces, ALogIsReadAsItWasWritten) {
  const LogRead read = read_log_pieces(log(), collect());
  EXPECT_EQ(intact(), kEntries);
  EXPECT_EQ(ranges, 1U);
  EXPECT_EQ(read.gaps, 0U);
  EXPECT_FALSE(read.torn);
  EXPECT_EQ(read.first_sequence, 1U);
  EXPECT_EQ(read.last_sequence, kEntries + 1);
}

TEST_F(RocksdbPieces, ATornLogIsReadUpToItsEnd) {
  const std::string file = log();
  const LogRead read = read_log_pieces(std::string_view{file}.substr(0, file.size() / 2), collect());
  EXPECT_GT(intact(), kEntries / 3);
  EXPECT_EQ(read.gaps, 0U);
  EXPECT_TRUE(read.torn);
  EXPECT_EQ(read.last_sequence, found.size());
}

TEST_F(RocksdbPieces, ALogThatEndsInTheMiddleOfAHeaderIsTorn) {
  const std::string file = log();
  std::size_t whole = 0;
  for (std::size_t bytes = file.size() - 300; bytes < file.size(); ++bytes) {
    const LogRead read = read_log_pieces(std::string_view{file}.substr(0, bytes), [](const Piece&) {});
    whole += read.torn ? 0 : 1;
  }
  EXPECT_LE(whole, 3U) << "more ends than there are of batches in so many bytes";
}

TEST_F(RocksdbPieces, ADamagedBatchCostsNothingButItself) {
  const std::string file = log();
  Rng rng{5};
  for (int round = 0; round < 50; ++round) {
    std::string damaged = file;
    char& byte = damaged[rng.below(file.size() - 200)];
    byte = static_cast<char>(byte ^ (1 << rng.below(8)));
    std::size_t values = 0;
    const LogRead read = read_log_pieces(damaged, [&](const Piece& piece) {
      if (piece.kind == Piece::Kind::Value) ++values;
    });
    EXPECT_EQ(values, kEntries - 1) << round;
    EXPECT_GE(read.gaps, 1U) << round;
  }
}

TEST_F(RocksdbPieces, NoBytesHurtTheReader) {
  const std::vector<std::string> files = {table(), log()};
  const PieceVisit ignore = [](const Piece&) {};
  Rng rng{11};
  for (int round = 0; round < 200; ++round) {
    std::string bytes = files[static_cast<std::size_t>(round) % 2].substr(0, 40'000);
    for (int i = 0; i < 40; ++i) bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    bytes.resize(rng.below(bytes.size()));
    read_table_pieces(bytes, ignore);
    read_log_pieces(bytes, ignore);
  }
}

}  // namespace
}  // namespace penstock
