// A journal on a real disk, damaged in every way that one can think of. Fault F13; `tests/chaos/journal_damage` does
// the same to large ones, with real processes.
#include "supervisor/actors/state_directory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "common/base/rng.hpp"
#include "common/host/process.hpp"
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
    return files_of(scratch.at("copy/journal"));
  }
  /// Jobs by number. Each job that is there is as it was written.
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
  /// Without the flag the start is refused and the flag is named, or nothing is missing.
  void expect_refused_or_whole(const std::string& what) {
    const Result<OpenJournal> opened = open_state_directory({scratch.at("copy")});
    is_refused = !opened;
    if (!opened) {
      EXPECT_EQ(opened.error().code, ErrorCode::StorageDamaged) << what << ": " << to_string(opened.error());
      EXPECT_NE(opened.error().remedy.find("--salvage"), std::string::npos)
          << what << ": " << to_string(opened.error());
      return;
    }
    const std::set<std::uint32_t> found = check(opened->recovered);
    EXPECT_EQ(found.size(), shape.jobs) << what << ": lost without a word";
  }
  /// With the flag it starts, and then again without.
  std::set<std::uint32_t> expect_salvaged(const std::string& what) {
    std::set<std::uint32_t> found;
    {
      const Result<OpenJournal> opened = open_state_directory({scratch.at("copy"), Damage::Salvage});
      EXPECT_TRUE(opened.has_value()) << what << ": " << to_string(opened.error());
      if (!opened) return found;
      found = check(opened->recovered);
      std::set<std::uint32_t> known = found;
      for (const JournalLoss& loss : opened->recovered.losses)
        for (std::uint32_t job = loss.job.value(); loss.whole_job; ++job) {
          known.insert(job);
          if (!loss.last.valid() || job == loss.last.value()) break;
        }
      // The log and the anchor both know how many there were; one damage leaves one of them.
      EXPECT_EQ(known.size(), shape.jobs) << what << ": lost without a word";
    }
    const Result<OpenJournal> again = open_state_directory({scratch.at("copy")});
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

  JournalShape shape;
  const ScratchDirectory scratch;
  bool is_refused = false;  ///< The last start without the flag was refused.
};

TEST_F(DamagedStateTest, AnIntactOneIsReadWhole) {
  copy();
  const Result<OpenJournal> opened = open_state_directory({scratch.at("copy")});
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

// PENSTOCK_DAMAGES=1000 is the long run; `tests/chaos/journal_damage` does the same to large journals of real
// processes.
TEST_F(DamagedStateTest, ARandomDamageIsNeverSilent) {
  const std::string wanted = environment_value("PENSTOCK_DAMAGES");
  const std::uint64_t damages = wanted.empty() ? 25 : std::strtoull(wanted.c_str(), nullptr, 10);
  shape = {16, 3000};
  fs::remove_all(scratch.at("good"));
  ASSERT_TRUE(make_journal(scratch.at("good"), shape).has_value());
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= damages && !HasFailure(); ++seed) {
    const std::string what = "seed " + std::to_string(seed) + ": " + strike(copy(), seed);
    expect_refused_or_whole(what);
    strike(copy(), seed);
    expect_salvaged(what);
    refused += is_refused ? 1 : 0;
  }
  RecordProperty("refused", refused);
  EXPECT_GT(refused, 0);
}

/// Every byte is tried in the long run, PENSTOCK_DAMAGES=..., else one of so many, another one in each file.
std::uintmax_t step_of(std::uintmax_t otherwise) {
  return environment_value("PENSTOCK_DAMAGES").empty() ? otherwise : 1;
}

/// A small state, each commit of which was promised, and the newest log of it.
class EndOfTheLogTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kJobs = 3;

  void SetUp() override {
    {
      Result<OpenJournal> opened = open_state_directory({scratch.at("good")});
      ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
      for (std::uint32_t job = 1; job <= kJobs; ++job) accept(*opened->storage, job, Sync::Yes);
    }
    for (const auto& entry : fs::directory_iterator{scratch.at("good/journal")})
      if (entry.path().extension() == ".log") log = std::max(log, entry.path().filename().string());
    copy();
    lines = lines_of(open_state_directory({scratch.at("copy")})->recovered.state);
  }
  static void accept(Storage& storage, std::uint32_t job, Sync sync) {
    StorageBatch batch;
    const Graph graph = made_graph(job, {kJobs, 64});
    JobSpec spec;
    spec.name = "made-" + std::to_string(job);
    write_record(record::JobAccepted{JobId{job}, spec, &graph, job}, 0, batch);
    ASSERT_TRUE(storage.commit(batch, sync).has_value());
  }
  /// A fresh copy; its newest log.
  fs::path copy() {
    fs::remove_all(scratch.at("copy"));
    fs::create_directories(scratch.at("copy"));
    fs::copy(scratch.at("good/journal"), scratch.at("copy/journal"), fs::copy_options::recursive);
    return scratch.at("copy/journal/" + log);
  }
  /// Whether the start was refused; if not, nothing is lost, and nothing has changed.
  bool is_refused(const std::string& what) {
    const Result<OpenJournal> opened = open_state_directory({scratch.at("copy")});
    if (opened) {
      EXPECT_EQ(lines_of(opened->recovered.state), lines) << what << ": lost without a word";
    } else {
      EXPECT_EQ(opened.error().code, ErrorCode::StorageDamaged) << what;
      EXPECT_NE(opened.error().remedy.find("--salvage"), std::string::npos) << what;
    }
    return !opened;
  }
  /// Jobs that are there, or listed as gone, after a salvage.
  std::set<std::uint32_t> salvaged(const std::string& what) {
    std::set<std::uint32_t> known;
    const Result<OpenJournal> opened = open_state_directory({scratch.at("copy"), Damage::Salvage});
    EXPECT_TRUE(opened.has_value()) << what << ": " << to_string(opened.error());
    if (!opened) return known;
    for (const RecoveredJob& job : opened->recovered.state.jobs) known.insert(job.id.value());
    for (const JournalLoss& loss : opened->recovered.losses)
      for (std::uint32_t job = loss.job.value(); loss.whole_job; ++job) {
        known.insert(job);
        if (!loss.last.valid() || job == loss.last.value()) break;
      }
    return known;
  }

  const ScratchDirectory scratch{memory_directory()};
  const std::set<std::uint32_t> all_jobs{1, 2, 3};
  std::string log;
  std::string lines;
};

void flip_bit_of_byte(const fs::path& path, std::uintmax_t at) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ (1 << (at % 8))));
}

TEST_F(EndOfTheLogTest, ACutAtWhateverByteIsRefusedOrMended) {
  int refused = 0;
  const std::uintmax_t size = fs::file_size(copy());
  for (std::uintmax_t bytes = 0; bytes < size && !HasFailure(); bytes += step_of(3)) {
    fs::resize_file(copy(), bytes);
    refused += is_refused("cut at " + std::to_string(bytes)) ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
  fs::resize_file(copy(), size - 1);
  EXPECT_FALSE(is_refused("the last byte")) << "the anchor has the last commit";
}

TEST_F(EndOfTheLogTest, AFlippedBitAtWhateverByteIsRefusedOrMended) {
  int refused = 0;
  const std::uintmax_t size = fs::file_size(copy());
  for (std::uintmax_t at = 0; at < size && !HasFailure(); at += step_of(3)) {
    flip_bit_of_byte(copy(), at);
    refused += is_refused("a bit of byte " + std::to_string(at)) ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(EndOfTheLogTest, AFlippedBitAtWhateverByteOfAnyFileIsNeverSilent) {
  copy();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator{scratch.at("copy/journal")}) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  std::uintmax_t at = 0;
  for (const fs::path& name : files) {
    const fs::path path = scratch.at("copy/journal") / name;
    copy();
    const std::uintmax_t size = fs::file_size(path);
    for (; at < size && !HasFailure(); at += step_of(211)) {
      copy();
      flip_bit_of_byte(path, at);
      const std::string what = "a bit of byte " + std::to_string(at) + " of " + name.string();
      if (is_refused(what)) {
        EXPECT_EQ(salvaged(what), all_jobs) << what;
      }
    }
    at = size == 0 ? 0 : at % step_of(211);
  }
}

// Records behind the anchor were promised to nobody. Such an end may be missing or torn; what is before it is there.
TEST_F(EndOfTheLogTest, AnEndThatNobodyWasToldOfMayBeTornAndNothingElseIsLost) {
  std::uintmax_t promised = 0;
  fs::remove_all(scratch.at("good"));
  {
    Result<OpenJournal> opened = open_state_directory({scratch.at("good")});
    for (std::uint32_t job = 1; job <= kJobs; ++job) accept(*opened->storage, job, Sync::Yes);
    promised = fs::file_size(scratch.at("good/journal/" + log));
    accept(*opened->storage, kJobs + 1, Sync::No);
  }
  const std::uintmax_t size = fs::file_size(copy());
  ASSERT_GT(size, promised);
  const JournalIdentity before = open_state_directory({scratch.at("copy")})->recovered.identity;
  for (const bool is_cut : {true, false}) {
    for (std::uintmax_t at = promised + 1; at < size && !HasFailure(); at += step_of(5)) {
      const std::string what = (is_cut ? "cut at " : "a bit of byte ") + std::to_string(at);
      const fs::path path = copy();
      if (is_cut)
        fs::resize_file(path, at);
      else
        flip_bit_of_byte(path, at);
      const Result<OpenJournal> opened = open_state_directory({scratch.at("copy")});
      ASSERT_TRUE(opened.has_value()) << what << ": " << to_string(opened.error());
      EXPECT_EQ(lines_of(opened->recovered.state), lines) << what;
      EXPECT_NE(opened->recovered.identity.branch, before.branch) << what << ": it is logged and another branch";
    }
  }
}

TEST_F(EndOfTheLogTest, ASalvageListsEveryJobThatTheCutHasTaken) {
  const std::uintmax_t size = fs::file_size(copy());
  for (std::uintmax_t bytes = 0; bytes < size && !HasFailure(); bytes += step_of(23)) {
    fs::resize_file(copy(), bytes);
    EXPECT_EQ(salvaged("cut at " + std::to_string(bytes)), all_jobs) << "cut at " << bytes;
  }
}

// A kill between the exchange of the directories and the list of losses: the next start must not go on in silence.
TEST_F(EndOfTheLogTest, ASalvageThatHasNotSaidWhatIsLostIsDoneAgain) {
  const fs::path cut = copy();
  fs::resize_file(cut, fs::file_size(cut) / 2);
  for (int kill = 0; kill < 2; ++kill)
    ASSERT_TRUE(RocksdbStorage::salvage(journal_options(scratch.at("copy"))).has_value());
  EXPECT_TRUE(is_refused("salvaged, and nobody was told"));
  std::vector<std::string> told;
  StateOptions options;
  options.directory = scratch.at("copy");
  options.damage = Damage::Salvage;
  options.tell = [&told](const JournalLoss& loss) { told.push_back(to_string(loss)); };
  const Result<OpenJournal> opened = open_state_directory(options);
  ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
  EXPECT_EQ(told.size(), opened->recovered.losses.size());
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [](const std::string& loss) {
    return loss.find("of the files that could not be read") != std::string::npos ||
           loss.find("durable commits") != std::string::npos;
  }));
}

TEST_F(EndOfTheLogTest, ACutOrSalvagedStateIsAnotherBranch) {
  fs::resize_file(copy(), 100);
  const Result<OpenJournal> whole = open_state_directory({scratch.at("good")});
  const Result<OpenJournal> salvaged = open_state_directory({scratch.at("copy"), Damage::Salvage});
  ASSERT_TRUE(whole.has_value() && salvaged.has_value());
  EXPECT_EQ(whole->recovered.identity.state, salvaged->recovered.identity.state);
  EXPECT_NE(whole->recovered.identity.branch, salvaged->recovered.identity.branch);
}

TEST_F(EndOfTheLogTest, AnAnchorThatIsGoneIsRefusedByName) {
  copy();
  fs::remove(scratch.at("copy/journal/ANCHOR"));
  EXPECT_TRUE(is_refused("without an anchor"));
  EXPECT_TRUE(open_state_directory({scratch.at("copy"), Damage::Salvage}).has_value());
  EXPECT_FALSE(is_refused("after a salvage that has told"));
}

}  // namespace
}  // namespace penstock::supervisor
