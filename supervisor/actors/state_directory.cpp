#include "supervisor/actors/state_directory.hpp"

#include <filesystem>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/host/log.hpp"
#include "common/storage/durable_files.hpp"

namespace penstock::supervisor {
namespace {

namespace fs = std::filesystem;

std::string own_name() { return "host " + host_name() + " process " + std::to_string(process_id()); }

/// The name under which the holder of a lease reaches the journal's files; a link, which the next holder takes away.
constexpr const char* kAccess = ".of-";
/// Of copies that were being made (`state_copies.cpp`).
constexpr const char* kCopy = ".copy-";

/// The former holder of the state may be stopped in the middle of anything and go on at any time. From here on none of
/// its writes reaches the journal: its names lead nowhere, and its open files have no name.
Result<std::string> take_access(const std::string& journal, FileLease& lease) {
  std::error_code code;
  const std::string own = fs::path{journal}.filename().string();
  for (const auto& entry : fs::directory_iterator{fs::path{journal}.parent_path(), code}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(own + kAccess) || name.starts_with(own + kCopy)) fs::remove_all(entry.path(), code);
  }
  if (lease.is_contested() && fs::exists(journal, code)) {
    PENSTOCK_TRY(orphan_open_files(journal));
    log_line(LogLevel::Warn, "state taken over", "from=\"a holder that is silent and may still live\"");
  }
  PENSTOCK_TRY(finish_replacement(journal));
  fs::create_directories(journal, code);
  std::string access = journal + kAccess + std::to_string(lease.number());
  fs::create_directory_symlink(fs::path{journal}.filename(), access, code);
  if (code) return Error{ErrorCode::InvalidArgument, journal, "cannot be written to: " + code.message(), {}};
  lease.settle();
  return access;
}

std::string text_of(const SalvageOutcome& outcome) {
  std::string text;
  if (outcome.gaps > 0) text += std::to_string(outcome.gaps) + " parts of the files that could not be read";
  if (outcome.commits_lost > 0)
    text += (text.empty() ? "" : ", and ") + std::string{"the last "} + std::to_string(outcome.commits_lost) +
            " durable commits";
  if (outcome.end_unknown)
    text += (text.empty() ? "" : ", and ") + std::string{"possibly the last records: the anchor is lost"};
  return text;
}

/// Says whether anything may be missing.
Result<bool> salvage_storage(const RocksdbOptions& options, std::vector<JournalLoss>& losses) {
  const Result<SalvageOutcome> outcome = RocksdbStorage::salvage(options);
  if (!outcome) return outcome.error();
  log_line(LogLevel::Warn, "journal salvaged",
           "entries_kept=" + std::to_string(outcome->entries_kept) + " gaps=" + std::to_string(outcome->gaps) +
               " commits_lost=" + std::to_string(outcome->commits_lost) +
               " damaged_original=" + outcome->damaged_directory);
  const std::string text = text_of(*outcome);
  if (text.empty()) return false;
  losses.push_back({JobId::none(), "", false, text + "; the original is in " + outcome->damaged_directory});
  return true;
}

/// Further records of a job that goes on may be missing as well.
void list_doubtful(const Recovered& recovered, std::vector<JournalLoss>& losses) {
  for (const RecoveredJob& job : recovered.state.jobs)
    if (!job.is_over)
      losses.push_back({job.id, job.spec.name, false,
                        "whatever was written of it in the parts that are lost; those subtasks run again"});
}

void log_findings(const StorageFindings& findings) {
  if (findings.torn)
    log_line(LogLevel::Warn, "journal cut", "text=\"a torn commit behind the last durable one was cut off\"");
  if (findings.mended)
    log_line(LogLevel::Warn, "journal mended", "text=\"the last commit was not in the log; its anchor had it\"");
}

}  // namespace

std::string journal_of(const std::string& directory) { return directory + "/journal"; }

RocksdbOptions journal_options(const std::string& directory) {
  RocksdbOptions options;
  options.directory = journal_of(directory);
  options.apart_bytes = kJobKeyBytes;
  options.apart_in_files = kJobsInFile;
  options.owner = own_name();
  options.provable = true;
  options.doubled = doubled_keys();
  return options;
}

Result<HeldState> hold_state(const std::string& directory, LeaseWatch* watch) {
  std::error_code code;
  fs::create_directories(directory, code);
  Result<std::unique_ptr<FileLease>> lease = FileLease::claim(directory, own_name(), watch, monotonic_now());
  if (!lease) return lease.error();
  Result<std::string> access = take_access(journal_of(directory), **lease);
  if (!access) return access.error();
  return HeldState{std::move(lease).value(), std::move(access).value()};
}

Result<OpenJournal> open_state_directory(const StateOptions& state) {
  RocksdbOptions options = journal_options(state.directory);
  Result<HeldState> held = hold_state(state.directory, state.watch);
  if (!held) return held.error();
  OpenJournal opened;
  opened.lease = std::make_shared<LeaseKeeper>(std::move(held->lease), state.lease);
  std::vector<JournalLoss> losses;
  bool doubtful = false;
  if (state.damage == Damage::Salvage) {
    const Result<bool> salvaged = salvage_storage(options, losses);
    if (!salvaged) return salvaged.error();
    doubtful = *salvaged;
  }
  options.reached_by = std::move(held->access);
  StorageFindings findings;
  Result<std::unique_ptr<Storage>> storage = RocksdbStorage::open(options, &findings);
  if (!storage) return storage.error();
  log_findings(findings);
  if (findings.untold.has_value() && state.damage == Damage::Refuse)
    return Error{ErrorCode::StorageDamaged, state.directory,
                 "was salvaged by a start that ended before it had reported the losses",
                 "start once with `--salvage`, which lists it"};
  Result<Recovered> recovered = recover(**storage, state.damage);
  if (!recovered) return recovered.error();
  if (findings.rewritten || findings.torn || state.damage == Damage::Salvage || state.new_branch)
    renew_branch(recovered->identity, random_incarnation().value(), unix_now_ms() / 1000);
  losses.insert(losses.end(), recovered->losses.begin(), recovered->losses.end());
  if (doubtful) list_doubtful(*recovered, losses);
  if (state.tell)
    for (const JournalLoss& loss : losses) state.tell(loss);
  Result<JournalIdentity> identity = begin_life(**storage, *recovered, random_incarnation().value());
  if (!identity) return identity.error();
  recovered->identity = *identity;
  identify_jobs(recovered->state, *identity);
  recovered->losses = std::move(losses);
  opened.storage = std::move(storage).value();
  opened.recovered = std::move(recovered).value();
  return opened;
}

}  // namespace penstock::supervisor
