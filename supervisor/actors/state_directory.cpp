#include "supervisor/actors/state_directory.hpp"

#include "common/runtime/clock.hpp"
#include "common/runtime/host.hpp"
#include "common/runtime/log.hpp"
#include "common/storage/rocksdb_storage.hpp"

namespace penstock::supervisor {
namespace {

Result<void> salvage_storage(const RocksdbOptions& options, std::vector<JournalLoss>& losses) {
  Result<SalvageOutcome> outcome = RocksdbStorage::salvage(options);
  if (!outcome) return outcome.error();
  log_line(LogLevel::Warn, "journal salvaged",
           "entries_kept=" + std::to_string(outcome->entries_kept) + " gaps=" + std::to_string(outcome->gaps) +
               " damaged_original=" + outcome->damaged_directory);
  if (outcome->gaps > 0)
    losses.push_back({JobId::none(), "", false,
                      std::to_string(outcome->gaps) +
                          " parts of the files that could not be read; the original is in " +
                          outcome->damaged_directory});
  return {};
}

}  // namespace

Result<OpenJournal> open_state_directory(const std::string& directory, Damage damage) {
  RocksdbOptions options;
  options.directory = directory + "/journal";
  options.apart_bytes = kJobKeyBytes;
  options.apart_in_files = kJobsInFile;
  options.owner = "host " + host_name() + " process " + std::to_string(process_id());
  std::vector<JournalLoss> losses;
  if (damage == Damage::Salvage) PENSTOCK_TRY(salvage_storage(options, losses));
  Result<std::unique_ptr<Storage>> storage = RocksdbStorage::open(options);
  if (!storage) return storage.error();
  Result<Recovered> recovered = recover(**storage, damage);
  if (!recovered) return recovered.error();
  if (damage == Damage::Salvage)
    renew_branch(recovered->identity, random_incarnation().value(), unix_now_ms() / 1000);
  Result<JournalIdentity> identity = begin_life(**storage, *recovered, random_incarnation().value());
  if (!identity) return identity.error();
  recovered->identity = *identity;
  identify_jobs(recovered->state, *identity);
  losses.insert(losses.end(), recovered->losses.begin(), recovered->losses.end());
  recovered->losses = std::move(losses);
  return OpenJournal{std::move(storage).value(), std::move(recovered).value()};
}

}  // namespace penstock::supervisor
