// A journal on a real disk, damaged in every way that one can think of. Fault F13; `tests/chaos/journal_damage` does
// the same to large ones, with real processes.
#include "supervisor/actors/state_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "common/base/rng.hpp"
#include "tests/chaos/journal_maker.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {
namespace {

namespace fs = std::filesystem;

class DamagedStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<void> made = make_journal(scratch.at("good"), shape);
    ASSERT_TRUE(made.has_value()) << to_string(made.error());
  }
  /// A fresh copy; its files, the same each time.
  std::vector<fs::path> copy() {
    fs::remove_all(scratch.at("copy"));
    fs::copy(scratch.at("good"), scratch.at("copy"), fs::copy_options::recursive);
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator{scratch.at("copy/journal")})
      if (const std::string name = entry.path().filename();
          !name.starts_with("LOG") && name != "LOCK" && name != "OWNER")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
  }
  /// Jobs by number. Those that are there are as they were written.
  std::set<std::uint32_t> check(const Recovered& recovered) {
    std::set<std::uint32_t> found;
    check_jobs(recovered, found);
    return found;
  }
  void check_jobs(const Recovered& recovered, std::set<std::uint32_t>& found) {
    for (const RecoveredJob& job : recovered.state.jobs) {
      const std::uint32_t number = job.id.value();
      found.insert(number);
      EXPECT_EQ(job.spec.name, "made-" + std::to_string(number));
      if (job.is_over) continue;
      const auto& graphs = recovered.state.graphs;
      const auto graph = std::find_if(graphs.begin(), graphs.end(),
                                      [&](const RecoveredGraph& known) { return known.brought_by == job.graph; });
      ASSERT_NE(graph, graphs.end()) << number;
      EXPECT_TRUE(graph->chunks.size() == 1 && graph->chunks[0] == made_graph(number, shape)) << number;
    }
  }
  /// Without the flag the start is refused and the flag is named, or nothing is missing but the end of the log.
  void expect_refused_or_whole(const std::string& what) {
    const Result<OpenJournal> opened = open_state_directory(scratch.at("copy"), Damage::Refuse);
    if (!opened) {
      EXPECT_EQ(opened.error().code, ErrorCode::StorageDamaged) << what << ": " << to_string(opened.error());
      EXPECT_NE(opened.error().remedy.find("--salvage"), std::string::npos)
          << what << ": " << to_string(opened.error());
      return;
    }
    const std::set<std::uint32_t> found = check(opened->recovered);
    EXPECT_TRUE(found.empty() || *found.rbegin() == found.size()) << what << ": lost in the middle without a word";
    EXPECT_GE(found.size(), shape.jobs / 2) << what << ": sorted files are lost without a word";
  }
  /// With the flag it starts, and then again without.
  std::set<std::uint32_t> expect_salvaged(const std::string& what) {
    std::set<std::uint32_t> found;
    {
      const Result<OpenJournal> opened = open_state_directory(scratch.at("copy"), Damage::Salvage);
      EXPECT_TRUE(opened.has_value()) << what << ": " << to_string(opened.error());
      if (!opened) return found;
      found = check(opened->recovered);
      std::set<std::uint32_t> known = found;
      for (const JournalLoss& loss : opened->recovered.losses)
        for (std::uint32_t job = loss.job.value(); loss.whole_job; ++job) {
          known.insert(job);
          if (!loss.last.valid() || job == loss.last.value()) break;
        }
      // Where the end of the log is gone, nobody knows any more that there was one.
      EXPECT_TRUE(known.empty() || *known.rbegin() == known.size()) << what << ": lost without a word";
    }
    const Result<OpenJournal> again = open_state_directory(scratch.at("copy"), Damage::Refuse);
    EXPECT_TRUE(again.has_value()) << what << ": " << to_string(again.error());
    EXPECT_TRUE(!again || check(again->recovered) == found) << what;
    return found;
  }

  static void flip(const fs::path& path, std::uint64_t bit) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekg(static_cast<std::streamoff>(bit / 8));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(bit / 8));
    file.put(static_cast<char>(byte ^ (1 << (bit % 8))));
  }
  static void zero_page(const fs::path& path, std::uint64_t at) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(at));
    file << std::string(std::min<std::uint64_t>(4096, fs::file_size(path) - at), '\0');
  }

  const JournalShape shape;
  const ScratchDirectory scratch;
};

TEST_F(DamagedStateTest, AnIntactOneIsReadWhole) {
  copy();
  const Result<OpenJournal> opened = open_state_directory(scratch.at("copy"), Damage::Refuse);
  ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
  EXPECT_EQ(check(opened->recovered).size(), shape.jobs);
}

TEST_F(DamagedStateTest, AFlippedBitCostsFewJobsAndIsNotPassedOver) {
  Rng rng{7};
  for (int round = 0; round < 15; ++round) {
    for (int pass = 0; pass < 2; ++pass) {
      // Every third round in the smallest files, the others where most of the bytes are.
      std::vector<fs::path> files = copy();
      if (round % 3 != 0) std::erase_if(files, [](const fs::path& path) { return fs::file_size(path) < 10'000; });
      Rng same{static_cast<std::uint64_t>(round) + 1};
      const fs::path& path = files[same.below(files.size())];
      const std::string what = "round " + std::to_string(round) + ", a bit of " + path.filename().string();
      flip(path, same.below(fs::file_size(path) * 8));
      if (pass == 0)
        expect_refused_or_whole(what);
      else
        EXPECT_GE(expect_salvaged(what).size(), shape.jobs - 4) << what;
    }
  }
}

TEST_F(DamagedStateTest, ACutFileStarts) {
  for (int round = 0; round < 8; ++round) {
    for (int pass = 0; pass < 2; ++pass) {
      const std::vector<fs::path> files = copy();
      Rng same{static_cast<std::uint64_t>(round) + 100};
      const fs::path& path = files[static_cast<std::size_t>(round) % files.size()];
      const std::string what = "round " + std::to_string(round) + ", cut " + path.filename().string();
      fs::resize_file(path, same.below(fs::file_size(path)));
      if (pass == 0)
        expect_refused_or_whole(what);
      else
        EXPECT_GE(expect_salvaged(what).size(), shape.jobs / 2 - 1) << what;
    }
  }
}

TEST_F(DamagedStateTest, AZeroedPageCostsFewJobs) {
  for (int round = 0; round < 12; ++round) {
    for (int pass = 0; pass < 2; ++pass) {
      const std::vector<fs::path> files = copy();
      Rng same{static_cast<std::uint64_t>(round) + 200};
      const fs::path& path = files[static_cast<std::size_t>(round) % files.size()];
      const std::string what = "round " + std::to_string(round) + ", a page of " + path.filename().string();
      zero_page(path, same.below(fs::file_size(path)) / 4096 * 4096);
      if (pass == 0)
        expect_refused_or_whole(what);
      else
        EXPECT_GE(expect_salvaged(what).size(), shape.jobs - 4) << what;
    }
  }
}

TEST_F(DamagedStateTest, ALostFileIsNotTakenForAnEmptyJournal) {
  const std::size_t count = copy().size();
  for (std::size_t lost = 0; lost < count; ++lost) {
    for (int pass = 0; pass < 2; ++pass) {
      const fs::path path = copy()[lost];
      const std::string what = "without " + path.filename().string();
      fs::remove(path);
      if (pass == 0)
        expect_refused_or_whole(what);
      else
        EXPECT_GE(expect_salvaged(what).size(), shape.jobs / 2 - 1) << what;
    }
  }
}

}  // namespace
}  // namespace penstock::supervisor
