// Damages copies of a journal and compares what notices the damage, and what is saved: by `RocksdbStorage`, and by
// RocksDB's own means with our anchor. Usage: compare_salvage JOBS BYTES_OF_EACH DAMAGES
#include <rocksdb/db.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "common/host/clock.hpp"
#include "common/storage/rocksdb_end.hpp"
#include "supervisor/actors/state_directory.hpp"
#include "tests/chaos/journal_maker.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {
namespace {

namespace fs = std::filesystem;
using Mode = rocksdb::WALRecoveryMode;

/// The content that a way has read; none: it refuses.
using Read = std::optional<RecoveredState>;

rocksdb::Options options_with(Mode mode) {
  rocksdb::Options options;
  options.compression = rocksdb::kLZ4Compression;
  options.wal_recovery_mode = mode;
  options.track_and_verify_wals_in_manifest = true;
  return options;
}

std::unique_ptr<rocksdb::DB> open_database(const rocksdb::Options& options, const std::string& journal) {
  rocksdb::DB* opened = nullptr;
  static_cast<void>(rocksdb::DB::Open(options, journal, &opened).ok());
  return std::unique_ptr<rocksdb::DB>{opened};
}

/// All entries up to the first that cannot be read, from both ends. False: there is one.
bool read_entries(rocksdb::DB& database, MemoryStorage& entries) {
  const std::unique_ptr<rocksdb::Iterator> at{database.NewIterator({})};
  const auto take = [&] {
    if (at->key() != rocksdb::Slice{kEndKey.data(), kEndKey.size()})
      entries.entries()[at->key().ToString()] = at->value().ToString();
  };
  for (at->SeekToFirst(); at->Valid(); at->Next()) take();
  if (at->status().ok()) return true;
  for (at->SeekToLast(); at->Valid(); at->Prev()) take();
  return false;
}

Read read_journal(MemoryStorage& entries, Damage damage) {
  Result<Recovered> recovered = recover(entries, damage);
  return recovered ? Read{std::move(recovered->state)} : std::nullopt;
}

// ---- ways to open

Read open_ours(const std::string& state) {
  Result<OpenJournal> opened = open_state_directory({state});
  return opened ? Read{std::move(opened->recovered.state)} : std::nullopt;
}

/// Every check that RocksDB has, then the anchor.
Read open_by_rocksdb(const std::string& state, Mode mode) {
  const std::unique_ptr<rocksdb::DB> database = open_database(options_with(mode), journal_of(state));
  if (database == nullptr || !database->VerifyChecksum().ok()) return std::nullopt;
  StorageFindings findings;
  if (!ProvenEnd::open(*database, journal_options(state), findings)) return std::nullopt;
  MemoryStorage entries;
  return read_entries(*database, entries) ? read_journal(entries, Damage::Refuse) : std::nullopt;
}

// ---- ways to salvage

Read salvage_ours(const std::string& state) {
  Result<OpenJournal> opened = open_state_directory({state, Damage::Salvage});
  return opened ? Read{std::move(opened->recovered.state)} : std::nullopt;
}

Read salvage_from(rocksdb::DB* database, const std::string& state) {
  MemoryStorage entries;
  if (database != nullptr) read_entries(*database, entries);
  if (const AnchorFile::Found found = AnchorFile::read(journal_of(state)); found.anchor.has_value())
    for (const auto& [key, value] : found.anchor->doubled) entries.entries()[key] = value;
  return read_journal(entries, Damage::Salvage);
}

Read salvage_by_repair(const std::string& state) {
  const rocksdb::Options options = options_with(Mode::kSkipAnyCorruptedRecords);
  static_cast<void>(rocksdb::RepairDB(journal_of(state), options).ok());
  return salvage_from(open_database(options, journal_of(state)).get(), state);
}

Read salvage_by_skipping(const std::string& state) {
  rocksdb::Options options = options_with(Mode::kSkipAnyCorruptedRecords);
  options.paranoid_checks = false;
  options.track_and_verify_wals_in_manifest = false;
  return salvage_from(open_database(options, journal_of(state)).get(), state);
}

// ---- the series

struct Way {
  const char* name;
  bool saves;
  Read (*read)(const std::string& state);
};
constexpr Way kWays[] = {
    {"open: RocksdbStorage", false, open_ours},
    {"open: RocksDB, torn tails tolerated", false,
     [](const std::string& state) { return open_by_rocksdb(state, Mode::kTolerateCorruptedTailRecords); }},
    {"open: RocksDB, point in time", false,
     [](const std::string& state) { return open_by_rocksdb(state, Mode::kPointInTimeRecovery); }},
    {"open: RocksDB, absolute", false,
     [](const std::string& state) { return open_by_rocksdb(state, Mode::kAbsoluteConsistency); }},
    {"salvage: RocksdbStorage", true, salvage_ours},
    {"salvage: RepairDB", true, salvage_by_repair},
    {"salvage: RocksDB, records skipped", true, salvage_by_skipping},
};

struct Tally {
  std::uint64_t damages = 0;
  std::uint64_t refused = 0;
  std::uint64_t silent = 0;   ///< Opened with less than was promised, or with something else.
  std::uint64_t crashed = 0;  ///< RocksDB has ended the process.
  std::uint64_t lost = 0;     ///< Jobs.
  std::uint64_t most = 0;
  double seconds = 0;
};

std::string kind_of(const std::string& what) {
  for (const char* kind : {".log", ".sst", "MANIFEST-", "CURRENT", "ANCHOR"})
    if (what.find(kind) != std::string::npos) return kind;
  return "other";
}

/// Jobs that are there with the content that was written.
std::uint64_t intact_jobs(const RecoveredState& state, const JournalShape& shape) {
  std::uint64_t intact = 0;
  for (const RecoveredJob& job : state.jobs) {
    const auto graph = std::find_if(state.graphs.begin(), state.graphs.end(),
                                    [&](const RecoveredGraph& each) { return each.brought_by == job.graph; });
    intact += job.is_over || (graph != state.graphs.end() && graph->chunks.size() == 1 &&
                              graph->chunks[0] == made_graph(job.id.value(), shape))
                  ? 1
                  : 0;
  }
  return intact;
}

/// The text that `make` returns in a process of its own; none: the process has crashed.
std::optional<std::string> in_a_process(const std::function<std::string()>& make) {
  int ends[2];
  if (::pipe(ends) != 0) return std::nullopt;
  const pid_t child = ::fork();  // tidy: allow call: the child may crash, and shares what the parent knows
  if (child == 0) {
    const std::string text = make();
    std::FILE* out = ::fdopen(ends[1], "w");
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? std::optional{text} : std::nullopt;
}

/// Reads the damaged copy: refused, silent, jobs lost, seconds.
std::string try_way(const Way& way, const std::string& state, const JournalShape& shape, const std::string& whole) {
  const Instant begin = monotonic_now();
  const Read read = way.read(state);
  const double seconds = std::chrono::duration<double>(monotonic_now() - begin).count();
  const bool is_silent = !way.saves && read && lines_of(*read) != whole;
  std::ostringstream text;
  text << (read ? 0 : 1) << ' ' << is_silent << ' ' << shape.jobs - (read ? intact_jobs(*read, shape) : 0) << ' '
       << seconds;
  return text.str();
}

void count(const std::optional<std::string>& text, const JournalShape& shape, Tally& tally) {
  ++tally.damages;
  std::uint64_t refused = 0;
  std::uint64_t silent = 0;
  std::uint64_t lost = shape.jobs;
  double seconds = 0;
  if (text) std::istringstream{*text} >> refused >> silent >> lost >> seconds;
  tally.crashed += text ? 0 : 1;
  tally.refused += refused;
  tally.silent += silent;
  tally.lost += lost;
  tally.most = std::max(tally.most, lost);
  tally.seconds += seconds;
}

void print(const std::string& way, const std::string& kind, bool saves, const Tally& tally) {
  const auto number = [](std::uint64_t value, bool is_told) { return is_told ? std::to_string(value) : "-"; };
  std::printf("%-38s %-10s %7s %8s %7s %8s %9s %7s %7.1f\n", way.c_str(), kind.c_str(),
              number(tally.damages, true).c_str(), number(tally.refused, true).c_str(),
              number(tally.silent, !saves).c_str(), number(tally.crashed, true).c_str(),
              number(tally.lost, saves).c_str(), number(tally.most, saves).c_str(),
              1000 * tally.seconds / static_cast<double>(tally.damages));
}

int run(const JournalShape& shape, std::uint64_t damages) {
  const ScratchDirectory scratch{memory_directory()};
  const auto copy = [&] {
    fs::remove_all(scratch.at("copy"));
    fs::copy(scratch.at("good"), scratch.at("copy"), fs::copy_options::recursive);
    return files_of(scratch.at("copy/journal"));
  };
  // The parent never opens a database: its children would lack the threads of RocksDB.
  const std::optional<std::string> whole = in_a_process([&] {
    if (!make_journal(scratch.at("good"), shape)) std::abort();
    copy();
    return lines_of(*open_ours(scratch.at("copy")));
  });
  if (!whole) return std::fprintf(stderr, "cannot make a journal\n"), 1;
  std::map<std::pair<std::string, std::string>, Tally> tallies;
  for (std::uint64_t seed = 1; seed <= damages; ++seed)
    for (const Way& way : kWays) {
      const std::string what = strike(copy(), seed);
      const auto text = in_a_process([&] { return try_way(way, scratch.at("copy"), shape, *whole); });
      for (const std::string& kind : {kind_of(what), std::string{"all"}}) count(text, shape, tallies[{way.name, kind}]);
    }
  std::printf("%u jobs of %u bytes, %s damages\n", shape.jobs, shape.job_bytes, std::to_string(damages).c_str());
  std::printf("%-38s %-10s %7s %8s %7s %8s %9s %7s %7s\n", "way", "file", "damages", "refused", "silent", "crashed",
              "jobs lost", "at most", "ms each");
  for (const Way& way : kWays)
    for (const auto& [key, tally] : tallies)
      if (key.first == way.name) print(key.first, key.second, way.saves, tally);
  return 0;
}

}  // namespace
}  // namespace penstock::supervisor

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: compare_salvage JOBS BYTES_OF_EACH DAMAGES\n"), 2;
  penstock::supervisor::JournalShape shape;
  shape.jobs = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  shape.job_bytes = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  return penstock::supervisor::run(shape, std::strtoull(argv[3], nullptr, 10));
}
