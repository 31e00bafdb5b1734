// The state that a kill leaves: before each single change that a command makes to a file, and in the start behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "common/base/rng.hpp"
#include "common/host/process.hpp"
#include "supervisor/actors/state_copies.hpp"
#include "supervisor/actors/state_directory.hpp"
#include "tests/chaos/journal_maker.hpp"
#include "tests/integration/state/killed_program.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {
namespace {

namespace fs = std::filesystem;

/// Changes of files that the start of a supervisor makes, about.
constexpr std::uint64_t kChangesOfAStart = 60;

class KilledStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_trace()) GTEST_SKIP() << "this machine lets no process trace its children";
    ASSERT_TRUE(make_journal(scratch.at("old"), {8, 400}).has_value());
    ASSERT_TRUE(make_journal(scratch.at("early"), {3, 400}).has_value());
    old_lines = lines_in("old");
    early_lines = lines_in("early");
    ASSERT_NE(old_lines, early_lines);
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::remove_all(scratch.at(to));
    fs::copy(scratch.at(from), scratch.at(to), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  /// Of a state as the next start finds it; the start is refused: its error.
  std::string lines_in(const std::string& name, Damage damage = Damage::Refuse) {
    const Result<OpenJournal> opened = open_state_directory({scratch.at(name), damage});
    if (!opened) return to_string(opened.error());
    losses = opened->recovered.losses;
    return lines_of(opened->recovered.state);
  }
  std::map<std::string, std::string> files_of(const std::string& directory) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator{scratch.at(directory)})
      if (const std::string name = entry.path().filename(); !name.starts_with("LOCK") && !name.starts_with("OWNER"))
        found[name] = scratch.read(directory + "/" + name);
    return found;
  }
  KilledProgram command(const std::vector<std::string>& arguments) const {
    return {PENSTOCK_BINARY, arguments, scratch.path()};
  }
  KilledProgram start(const std::vector<std::string>& more = {}) const {
    KilledProgram program = command({"supervisor", "--state", scratch.at("state"), "--listen", "127.0.0.1:0",
                                     "--address-file", scratch.at("address")});
    program.arguments.insert(program.arguments.end(), more.begin(), more.end());
    program.until = scratch.at("address");
    fs::remove(scratch.at("address"));
    return program;
  }
  /// Kills a program before one change after the other, until it has ended by itself. A part of the changes is left
  /// out; PENSTOCK_KILLS=N is the long run: N rounds with each single change, and other draws for the kills behind it.
  void before_each_change(const std::function<KilledProgram()>& set_up,
                          const std::function<void(const KilledRun&, const std::string&)>& check) {
    const std::string wanted = environment_value("PENSTOCK_KILLS");
    const std::uint64_t rounds = wanted.empty() ? 1 : std::strtoull(wanted.c_str(), nullptr, 10);
    std::uint64_t kills = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      rng = Rng{round};
      KilledRun run{.was_killed = true};
      for (std::uint64_t change = 0; run.was_killed && !HasFailure(); change += wanted.empty() ? 1 + rng.below(5) : 1) {
        run = run_until_change(set_up(), change);
        kills += run.was_killed ? 1 : 0;
        check(run, "round " + std::to_string(round) + ", change " + std::to_string(change) +
                       (run.was_killed ? ", before " + run.before : ", ended"));
      }
    }
    RecordProperty("kills", static_cast<int>(kills));
    EXPECT_GT(kills, 20U);
  }
  /// Of the next start, which is killed, too.
  void kill_the_next_start() { run_until_change(start(), rng.below(kChangesOfAStart)); }
  void expect_nothing_left_over(const std::string& what) const {
    for (const auto& entry : fs::directory_iterator{scratch.at("state")}) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name.find(".new") == std::string::npos && name.find(".copy-") == std::string::npos)
          << what << ": " << name;
    }
  }

  const ScratchDirectory scratch{memory_directory()};
  Rng rng{1};
  std::string old_lines;
  std::string early_lines;
  std::vector<JournalLoss> losses;  ///< Of the last state that was opened.
};

TEST_F(KilledStateTest, ARestoreLeavesTheOldStateOrTheNewOneWhole) {
  const auto backup = files_of("early/journal");
  int old_seen = 0;
  int new_seen = 0;
  const auto set_up = [&] {
    copy("old", "state");
    return command({"state", "restore", scratch.at("early"), "--state", scratch.at("state")});
  };
  before_each_change(set_up, [&](const KilledRun& run, const std::string& what) {
    if (run.was_killed) kill_the_next_start();
    const std::string lines = lines_in("state");
    old_seen += lines == old_lines ? 1 : 0;
    new_seen += lines == early_lines ? 1 : 0;
    EXPECT_TRUE(lines == old_lines || lines == early_lines) << what << ":\n" << lines;
    EXPECT_TRUE(run.was_killed || (run.exit_code == 0 && lines == early_lines)) << what << ":\n" << lines;
    expect_nothing_left_over(what);
    EXPECT_EQ(fs::exists(scratch.at("state/journal.replaced-1/ANCHOR")), lines == early_lines)
        << what << ": what was there is kept";
    EXPECT_EQ(files_of("early/journal"), backup) << what << ": the backup stays as it is";
  });
  EXPECT_TRUE(old_seen > 0 && new_seen > 0) << old_seen << " and " << new_seen;
}

TEST_F(KilledStateTest, ABackupIsWholeOrNotThereAndCanBeMadeThen) {
  const auto set_up = [&] {
    copy("old", "state");
    fs::remove_all(scratch.at("backup"));
    return command({"state", "backup", scratch.at("backup"), "--state", scratch.at("state")});
  };
  before_each_change(set_up, [&](const KilledRun& run, const std::string& what) {
    if (!fs::exists(scratch.at("backup"))) {
      EXPECT_TRUE(run.was_killed) << what;
      const Result<StateSummary> made = back_up_state(scratch.at("state"), scratch.at("backup"));
      EXPECT_TRUE(made.has_value()) << what << ": " << to_string(made.error());
    }
    EXPECT_EQ(lines_in("backup"), old_lines) << what;
    EXPECT_EQ(lines_in("state"), old_lines) << what;
    expect_nothing_left_over(what);
  });
}

class KilledSalvageTest : public KilledStateTest {
 protected:
  void SetUp() override {
    KilledStateTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_TRUE(make_journal(scratch.at("damaged"), {8, 400}).has_value());
    fs::path log;
    for (const auto& entry : fs::directory_iterator{scratch.at("damaged/journal")})
      if (entry.path().extension() == ".log") log = std::max(log, entry.path());
    fs::resize_file(log, fs::file_size(log) / 2);
    files = files_of("damaged/journal");
    copy("damaged", "state");
    salvaged_lines = lines_in("state", Damage::Salvage);
    salvage_losses = listed();
    for (const JournalLoss& loss : losses)
      if (loss.job.valid()) told.push_back(to_string(loss));
    ASSERT_NE(salvaged_lines, old_lines);
    ASSERT_FALSE(salvage_losses.empty());
  }
  /// Jobs of which the last start has said that they are gone or in doubt.
  std::set<std::uint32_t> listed() const {
    std::set<std::uint32_t> jobs;
    for (const JournalLoss& loss : losses)
      for (std::uint32_t job = loss.job.valid() ? loss.job.value() : 0; job > 0; ++job) {
        jobs.insert(job);
        if (!loss.last.valid() || job == loss.last.value()) break;
      }
    return jobs;
  }

  /// Whether the salvage has printed every loss.
  bool has_told_all() const {
    const std::string errors = scratch.read("errors");
    return std::all_of(told.begin(), told.end(),
                       [&](const std::string& loss) { return errors.find(loss) != std::string::npos; });
  }

  std::map<std::string, std::string> files;  ///< Of the damaged journal, by name.
  std::string salvaged_lines;
  std::set<std::uint32_t> salvage_losses;
  std::vector<std::string> told;  ///< As the command prints them, those of jobs.
};

TEST_F(KilledSalvageTest, ASalvageLeavesTheDamagedStateOrTheSalvagedOneAndListsWhatIsLost) {
  int refused = 0;
  int taken = 0;
  const auto set_up = [&] {
    copy("damaged", "state");
    KilledProgram salvage = start({"--salvage"});
    salvage.errors = scratch.at("errors");
    return salvage;
  };
  before_each_change(set_up, [&](const KilledRun& run, const std::string& what) {
    if (run.was_killed) kill_the_next_start();
    const bool was_told = has_told_all();
    const std::string lines = lines_in("state");
    const bool is_refused = lines != salvaged_lines;
    refused += is_refused ? 1 : 0;
    taken += is_refused ? 0 : 1;
    EXPECT_TRUE(!is_refused || (run.was_killed && lines.find("--salvage") != std::string::npos)) << what << ":\n"
                                                                                                 << lines;
    EXPECT_TRUE(is_refused || was_told) << what << ": lost without a word";
    if (is_refused) {
      EXPECT_EQ(lines_in("state", Damage::Salvage), salvaged_lines) << what;
      EXPECT_EQ(listed(), salvage_losses) << what << ": lost without a word";
      EXPECT_EQ(lines_in("state"), salvaged_lines) << what << ": it was listed";
    }
    expect_nothing_left_over(what);
    EXPECT_EQ(files_of("state/journal.damaged-1"), files) << what << ": the damaged files are kept as they were";
  });
  EXPECT_TRUE(refused > 0 && taken > 0) << refused << " and " << taken;
}

}  // namespace
}  // namespace penstock::supervisor
