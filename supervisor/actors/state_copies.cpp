#include "supervisor/actors/state_copies.hpp"

#include <algorithm>
#include <filesystem>

#include "common/host/host.hpp"
#include "common/storage/anchor_file.hpp"
#include "common/storage/durable_files.hpp"
#include "supervisor/actors/state_directory.hpp"

namespace penstock::supervisor {
namespace {

namespace fs = std::filesystem;

/// A journal that is written and merged all the time rarely gets in the way more than once.
constexpr int kSnapshotTries = 50;

/// A directory that is removed at the end of the scope.
struct Scratch {
  explicit Scratch(std::string place) : path(std::move(place)) { clear(); }
  ~Scratch() { clear(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void clear() const {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  const std::string path;
};

std::uint64_t bytes_in(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator{directory, code})
    if (entry.is_regular_file(code)) bytes += entry.file_size(code);
  return bytes;
}

/// Opens a copy as a supervisor would, and reads all of it.
Result<StateSummary> read_through(const std::string& state) {
  StorageFindings findings;
  Result<std::unique_ptr<Storage>> storage = RocksdbStorage::open(journal_options(state), &findings);
  if (!storage) return storage.error();
  const Result<Recovered> recovered = recover(**storage, Damage::Refuse);
  if (!recovered) return recovered.error();
  StateSummary summary;
  summary.path = state;
  summary.commits = findings.last;
  summary.jobs = recovered->state.jobs.size();
  summary.unfinished =
      static_cast<std::uint64_t>(std::count_if(recovered->state.jobs.begin(), recovered->state.jobs.end(),
                                               [](const RecoveredJob& job) { return !job.is_over; }));
  summary.next_job = recovered->state.next_job;
  summary.identity = recovered->identity;
  PENSTOCK_TRY((*storage)->close());
  summary.bytes = bytes_in(journal_of(state));
  return summary;
}

/// Copies the journal of `directory` into `place` and reads it through. The anchor and the list of files are copied
/// before the files that they list: the copy then has all that was durable when it began, or the check finds that it
/// has not, and the copy is made anew.
Result<StateSummary> snapshot(const std::string& directory, const std::string& place) {
  std::error_code code;
  if (!fs::exists(journal_of(directory), code))
    return Error{ErrorCode::NotFound, directory, "has no journal", "name the directory of a state with `--state`"};
  Result<StateSummary> summary = StateSummary{};
  for (int left = kSnapshotTries; left > 0; --left) {
    fs::remove_all(place, code);
    const Result<void> copied = copy_directory(journal_of(directory), journal_of(place), Share::Tables);
    summary = copied ? read_through(place) : copied.error();
    if (summary) return summary;
    const ErrorCode why = summary.error().code;
    if (why != ErrorCode::NotFound && why != ErrorCode::StorageDamaged) break;
  }
  Error error = summary.error();
  error.subject = directory;
  return error;
}

/// Beside the journal, where sorted files can be shared.
std::string scratch_in(const std::string& directory) {
  return journal_of(directory) + ".copy-" + std::to_string(process_id());
}

}  // namespace

Result<StateSummary> verify_state(const std::string& directory) {
  const Scratch scratch{scratch_in(directory)};
  Result<StateSummary> summary = snapshot(directory, scratch.path);
  if (summary) summary->path = directory;
  return summary;
}

Result<StateSummary> back_up_state(const std::string& directory, const std::string& target) {
  std::error_code code;
  if (fs::exists(target, code))
    return Error{ErrorCode::InvalidArgument, target, "is there already", "name a directory that is not"};
  const Scratch scratch{scratch_in(directory)};
  Result<StateSummary> summary = snapshot(directory, scratch.path);
  if (!summary) return summary;
  const Scratch unfinished{target + ".unfinished"};
  PENSTOCK_TRY(copy_directory(journal_of(scratch.path), journal_of(unfinished.path), Share::Nothing));
  PENSTOCK_TRY(sync_path(unfinished.path));
  fs::rename(unfinished.path, target, code);
  if (code) return Error{ErrorCode::InvalidArgument, target, code.message(), {}};
  const fs::path parent = fs::absolute(target, code).parent_path();
  PENSTOCK_TRY(sync_path(parent.string()));
  summary->path = target;
  return summary;
}

Result<RestoredState> restore_state(const std::string& backup, const std::string& directory) {
  std::error_code code;
  if (!fs::exists(journal_of(backup), code))
    return Error{ErrorCode::NotFound, backup, "is no backup: it has no journal", {}};
  const Result<HeldState> held = hold_state(directory, nullptr);
  if (!held) return held.error();
  const Scratch place{journal_of(directory) + ".copy-" + std::to_string(process_id())};
  PENSTOCK_TRY(copy_directory(journal_of(backup), journal_of(place.path), Share::Nothing));
  Result<StateSummary> summary = read_through(place.path);
  if (!summary) {
    Error error = summary.error();
    error.subject = backup;
    error.remedy = "the state is as it was; restore another backup";
    return error;
  }
  Anchor anchor = AnchorFile::read(journal_of(place.path)).anchor.value_or(Anchor{});
  anchor.rewritten = true;
  if (const auto written = AnchorFile::open(journal_of(place.path), anchor); !written) return written.error();
  const std::string fresh = fresh_beside(journal_of(directory));
  fs::rename(journal_of(place.path), fresh, code);
  if (code) return Error{ErrorCode::Internal, fresh, code.message(), {}};
  Result<std::string> kept = replace_directory(journal_of(directory), "replaced");
  if (!kept) return kept.error();
  summary->path = directory;
  return RestoredState{std::move(summary).value(), std::move(kept).value()};
}

std::vector<StateSummary> list_states(const std::string& directory) {
  std::vector<std::string> places{directory};
  std::error_code code;
  for (const auto& entry : fs::directory_iterator{directory, code})
    if (entry.is_directory(code) && !entry.is_symlink(code) && entry.path().string() != journal_of(directory))
      places.push_back(entry.path().string());
  std::sort(places.begin(), places.end());
  std::vector<StateSummary> found;
  for (const std::string& place : places) {
    // A journal that was put aside is one without a state around it.
    const bool is_state = fs::exists(journal_of(place), code);
    const std::string journal = is_state ? journal_of(place) : place;
    const AnchorFile::Found anchor = AnchorFile::read(journal);
    if (!is_state && !anchor.exists) continue;
    StateSummary summary;
    summary.path = place;
    summary.bytes = bytes_in(journal);
    if (anchor.anchor.has_value()) {
      const Headline headline = read_headline(anchor.anchor->doubled);
      summary.commits = anchor.anchor->number;
      summary.next_job = headline.next_job;
      summary.identity = headline.identity;
    }
    found.push_back(std::move(summary));
  }
  return found;
}

}  // namespace penstock::supervisor
