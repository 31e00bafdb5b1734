#include "common/storage/rocksdb_storage.hpp"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/flush_block_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_partitioner.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/storage/durable_files.hpp"
#include "common/storage/rocksdb_end.hpp"
#include "common/storage/rocksdb_list.hpp"
#include "common/storage/rocksdb_remains.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// An empty view may have a null pointer, which RocksDB would pass to memcmp.
rocksdb::Slice slice(std::string_view text) { return {text.empty() ? "" : text.data(), text.size()}; }
std::string_view view(const rocksdb::Slice& text) { return {text.data(), text.size()}; }
std::string owner_file(const std::string& directory) { return directory + "/OWNER"; }

std::string read_owner(const std::string& directory) {
  std::ifstream file{owner_file(directory)};
  std::string owner;
  std::getline(file, owner);
  return owner.empty() ? "another process" : owner;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Error error_of(const rocksdb::Status& status, const std::string& directory) {
  const std::string words = status.ToString();
  if (status.IsNoSpace() || contains(words, "No space left"))
    return {ErrorCode::StorageFull, directory, "the disk is full",
            "make room; waiting commits are written as soon as there is some"};
  if (status.IsIOError() && (contains(words, "While lock file") || contains(words, "lock hold")))
    return {ErrorCode::StorageLocked, directory, "is held by " + read_owner(directory),
            "end that one first, or give this one a directory of its own with `--state`"};
  if (status.IsCorruption() || contains(words, "Corruption"))
    return {ErrorCode::StorageDamaged, directory, words, "start once with `--salvage` to keep what is intact"};
  if (contains(words, "Read-only file system") || contains(words, "Permission denied"))
    return {ErrorCode::InvalidArgument, directory, "cannot be written to: " + words,
            "mend that, or name another directory with `--state`"};
  if (status.IsIOError())
    return {ErrorCode::Internal, directory, words,
            "nothing more is accepted; repair the disk, and start again: all promised commits are there"};
  return {ErrorCode::Internal, directory, words, {}};
}

/// The path by which the files are accessed.
const std::string& access_of(const RocksdbOptions& options) {
  return options.reached_by.empty() ? options.directory : options.reached_by;
}

/// By default the database checks every five seconds whether there is room for a whole write buffer.
class WithoutOwnRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* automatic) override {
    *automatic = false;
  }
};

/// Fault F11: RocksDB's own text log would be on the disk of the data, and the line after one that the full disk has
/// refused ends the process (Debian's RocksDB asserts). Statuses carry the errors as well.
class WithoutText final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

/// An error of opening: a missing file or a senseless one is damage, too.
Error error_of_opening(const rocksdb::Status& status, const std::string& directory) {
  Error error = error_of(status, directory);
  const std::string words = status.ToString();
  const bool of_the_system = status.IsIOError() && !contains(words, "No such file");
  if (error.code != ErrorCode::Internal || of_the_system) return error;
  return {ErrorCode::StorageDamaged, directory, words, "start once with `--salvage` to keep what is intact"};
}

/// RocksDB initialises a directory without this file as a new one, whatever else is in it.
bool has_lost_its_root(const std::string& directory) {
  std::error_code code;
  if (fs::exists(directory + "/CURRENT", code)) return false;
  for (const auto& entry : fs::directory_iterator{directory, code}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("MANIFEST-") || name.ends_with(".sst") || name.ends_with(".log")) return true;
  }
  return false;
}

/// Ends a block where another prefix begins, or when it is large enough.
class BlocksApart final : public rocksdb::FlushBlockPolicy {
 public:
  explicit BlocksApart(std::size_t prefix_bytes) : prefix_bytes_(prefix_bytes) {}
  bool Update(const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    constexpr std::size_t kBlockBytes = 4096;
    const std::string_view prefix{key.data(), std::min(prefix_bytes_, key.size())};
    const std::size_t bytes = key.size() + value.size();
    const bool ends = block_bytes_ > 0 && (prefix != prefix_ || block_bytes_ + bytes > kBlockBytes);
    if (prefix != prefix_) prefix_ = prefix;
    block_bytes_ = bytes + (ends ? 0 : block_bytes_);
    return ends;
  }

 private:
  const std::size_t prefix_bytes_;
  std::string prefix_;
  std::size_t block_bytes_ = 0;
};

class BlocksApartFactory final : public rocksdb::FlushBlockPolicyFactory {
 public:
  explicit BlocksApartFactory(std::size_t prefix_bytes) : prefix_bytes_(prefix_bytes) {}
  const char* Name() const override { return "BlocksApart"; }
  rocksdb::FlushBlockPolicy* NewFlushBlockPolicy(const rocksdb::BlockBasedTableOptions& /*options*/,
                                                 const rocksdb::BlockBuilder& /*block*/) const override {
    return new BlocksApart{prefix_bytes_};  // RocksDB owns it.
  }

 private:
  const std::size_t prefix_bytes_;
};

/// Ends a merged file where another group of prefixes begins.
class FilesApart final : public rocksdb::SstPartitioner {
 public:
  explicit FilesApart(const RocksdbOptions& wanted) : bytes_(wanted.apart_bytes), together_(wanted.apart_in_files) {}
  const char* Name() const override { return "FilesApart"; }
  rocksdb::PartitionerResult ShouldPartition(const rocksdb::PartitionerRequest& request) override {
    return are_together(*request.prev_user_key, *request.current_user_key) ? rocksdb::kNotRequired : rocksdb::kRequired;
  }
  bool CanDoTrivialMove(const rocksdb::Slice& smallest, const rocksdb::Slice& largest) override {
    return are_together(smallest, largest);
  }

 private:
  bool are_together(const rocksdb::Slice& one, const rocksdb::Slice& other) const {
    const auto group = [this](const rocksdb::Slice& key) {
      std::string prefix{key.data(), std::min(bytes_, key.size())};
      if (prefix.size() == bytes_)
        prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) / together_);
      return prefix;
    };
    return group(one) == group(other);
  }

  const std::size_t bytes_;
  const unsigned together_;
};

class FilesApartFactory final : public rocksdb::SstPartitionerFactory {
 public:
  explicit FilesApartFactory(RocksdbOptions wanted) : wanted_(std::move(wanted)) {}
  const char* Name() const override { return "FilesApart"; }
  std::unique_ptr<rocksdb::SstPartitioner> CreatePartitioner(
      const rocksdb::SstPartitioner::Context& /*context*/) const override {
    return std::make_unique<FilesApart>(wanted_);
  }

 private:
  const RocksdbOptions wanted_;
};

rocksdb::Options options_of(const RocksdbOptions& wanted) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.compression = rocksdb::kLZ4Compression;
  const std::size_t young = std::min(wanted.young_bytes, wanted.memory_bytes);
  const int young_in_memory = static_cast<int>(wanted.memory_bytes / young);
  // Two of them, so that at most one waits to be written: several that wait would share a file.
  options.write_buffer_size = young;
  options.max_write_buffer_number = 2;
  // The triggers of merging and of slowing writers stand for bytes, whatever the number of files.
  options.level0_file_num_compaction_trigger *= young_in_memory;
  options.level0_slowdown_writes_trigger *= young_in_memory;
  options.level0_stop_writes_trigger *= young_in_memory;
  // Levels have the proportions of the write buffer: with the default, those of RocksDB.
  options.target_file_size_base = wanted.memory_bytes;
  options.max_bytes_for_level_base = wanted.memory_bytes * 4;
  options.max_total_wal_size = wanted.memory_bytes * 4;
  options.max_open_files = 256;
  options.max_background_jobs = 2;
  options.info_log = std::make_shared<WithoutText>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  // The format that `rocksdb_pieces.hpp` reads, whatever a later version of RocksDB prefers.
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.block_restart_interval = 16;
  if (wanted.apart_bytes > 0)
    table.flush_block_policy_factory = std::make_shared<BlocksApartFactory>(wanted.apart_bytes);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (wanted.apart_bytes > 0 && wanted.apart_in_files > 0)
    options.sst_partitioner_factory = std::make_shared<FilesApartFactory>(wanted);
  options.listeners.push_back(std::make_shared<WithoutOwnRecovery>());
  // A torn last record was not promised; a damaged record elsewhere was. Every log may have a torn end in this mode:
  // the list of files records the presence and the length of all but the newest.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.track_and_verify_wals_in_manifest = true;
  return options;
}

/// Unlocks when its holder is destroyed, or the process ends.
struct Unlock {
  void operator()(rocksdb::FileLock* lock) const { static_cast<void>(rocksdb::Env::Default()->UnlockFile(lock).ok()); }
};
using DirectoryLock = std::unique_ptr<rocksdb::FileLock, Unlock>;

/// The database's own lock goes whenever it is closed; this one also lasts while the database is opened again (fault
/// F08).
constexpr const char* kHoldersLock = "/OWNER.LOCK";
constexpr const char* kDatabaseLock = "/LOCK";

Result<DirectoryLock> lock_directory(const RocksdbOptions& options, const char* file) {
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status status = rocksdb::Env::Default()->LockFile(access_of(options) + file, &lock);
  if (!status.ok()) return error_of(status, options.directory);
  return DirectoryLock{lock};
}

class OpenRocksdb final : public Storage {
 public:
  OpenRocksdb(DirectoryLock lock, std::unique_ptr<rocksdb::DB> database, const RocksdbOptions& wanted,
              rocksdb::Options options, std::shared_ptr<ListLength> list_length, std::unique_ptr<ProvenEnd> end)
      : directory_(wanted.directory),
        access_(access_of(wanted)),
        options_(std::move(options)),
        list_length_(std::move(list_length)),
        lock_(std::move(lock)),
        database_(std::move(database)),
        end_(std::move(end)) {
    list_length_->note();
  }
  ~OpenRocksdb() override { static_cast<void>(close().has_value()); }

  Result<std::optional<std::string>> get(std::string_view key) override {
    if (database_ == nullptr) return closed();
    std::string value;
    const rocksdb::Status status = database_->Get(rocksdb::ReadOptions{}, slice(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>{};
    if (!status.ok()) return error_of(status, directory_);
    return std::optional<std::string>{std::move(value)};
  }

  Result<void> scan(std::string_view prefix, const ScanVisit& visit) override {
    if (database_ == nullptr) return closed();
    rocksdb::ReadOptions reading;
    reading.fill_cache = false;
    const std::unique_ptr<rocksdb::Iterator> at{database_->NewIterator(reading)};
    for (at->Seek(slice(prefix)); at->Valid() && at->key().starts_with(slice(prefix)); at->Next()) {
      if (end_ != nullptr && view(at->key()) == kEndKey) continue;
      if (!visit(view(at->key()), view(at->value()))) return {};
    }
    if (!at->status().ok()) return error_of(at->status(), directory_);
    return {};
  }

  Result<void> commit(const StorageBatch& batch, Sync sync) override {
    if (database_ == nullptr && !troubled_) return closed();
    // Fault F12: the content after a failed write is unknown, and RocksDB aborts at the next write to its log.
    if (broken_) return last_error_;
    if (troubled_) PENSTOCK_TRY(recover());
    rocksdb::WriteBatch changes;
    for (const StorageBatch::Change& change : batch.changes) {
      rocksdb::Status status;
      switch (change.kind) {
        case StorageBatch::Kind::Put: status = changes.Put(slice(change.key), slice(change.value)); break;
        case StorageBatch::Kind::Erase: status = changes.Delete(slice(change.key)); break;
        case StorageBatch::Kind::ErasePrefix: status = erase_prefix(change.key, changes); break;
      }
      if (!status.ok()) return error_of(status, directory_);
    }
    Result<void> anchored;
    const rocksdb::Status status = write(changes, batch, sync, anchored);
    troubled_ = !status.ok();
    if (status.ok() && anchored) return {};
    // Without its anchor a commit is not promised. Trying again has the same effect under another number.
    last_error_ = status.ok() ? anchored.error() : error_of(status, directory_);
    if (status.ok()) return last_error_;
    broken_ = status.IsIOError() && last_error_.code != ErrorCode::StorageFull;
    return last_error_;
  }

  Result<void> close() override {
    troubled_ = false;
    if (database_ == nullptr) {
      lock_.reset();
      return {};
    }
    const rocksdb::Status status = database_->Close();
    database_.reset();
    list_length_->note();  // The notification of the last change may be missing when a database closes.
    end_.reset();
    std::error_code ignored;
    fs::remove(owner_file(access_), ignored);
    lock_.reset();
    if (!status.ok()) return error_of(status, directory_);
    return {};
  }

 private:
  rocksdb::Status write(rocksdb::WriteBatch& changes, const StorageBatch& batch, Sync sync, Result<void>& anchored) {
    if (end_ != nullptr) return end_->write(*database_, changes, batch, sync, anchored);
    rocksdb::WriteOptions writing;
    writing.sync = sync == Sync::Yes;
    return database_->Write(writing, &changes);
  }
  rocksdb::Status erase_prefix(const std::string& prefix, rocksdb::WriteBatch& changes) {
    const std::string end = end_of_prefix(prefix).value_or(std::string(1024, '\xff'));
    return changes.DeleteRange(database_->DefaultColumnFamily(), slice(prefix), slice(end));
  }
  /// After an error the database refuses to write until it is told that the cause may be gone. Fault F11: a database
  /// that found the disk full in the middle of a record cannot be told (it asserts that the file is not used again); it
  /// is opened again, which reads the whole records back, but not before there is room for that.
  Result<void> recover() {
    if (database_ != nullptr && last_error_.code != ErrorCode::StorageFull) {
      if (!database_->Resume().ok()) return last_error_;
      if (end_ != nullptr) end_->look_again(*database_);
      return {};
    }
    std::error_code unknown;
    if (fs::space(directory_, unknown).available < kRoomToReopen || unknown) return last_error_;
    if (database_ != nullptr) static_cast<void>(database_->Close().ok());
    database_.reset();
    rocksdb::DB* database = nullptr;
    if (const rocksdb::Status status = rocksdb::DB::Open(options_, access_, &database); !status.ok())
      return last_error_ = error_of(status, directory_);
    database_.reset(database);
    if (end_ != nullptr) end_->look_again(*database_);
    list_length_->note();
    return {};
  }
  Error closed() const { return {ErrorCode::WrongState, directory_, "is closed", {}}; }

  static constexpr std::uintmax_t kRoomToReopen = std::uintmax_t{4} << 20U;

  const std::string directory_;
  const std::string access_;  ///< The same by the path that may be taken away.
  const rocksdb::Options options_;
  const std::shared_ptr<ListLength> list_length_;
  DirectoryLock lock_;
  std::unique_ptr<rocksdb::DB> database_;
  std::unique_ptr<ProvenEnd> end_;  ///< Null: its end cannot be proved.
  bool troubled_ = false;           ///< The last commit has failed.
  bool broken_ = false;             ///< A permanent fault: read-only until the next start.
  Error last_error_;
};

Error file_error(const std::string& path, const std::error_code& code) {
  const bool full = code == std::errc::no_space_on_device;
  return {full ? ErrorCode::StorageFull : ErrorCode::InvalidArgument, path, code.message(), {}};
}

/// Takes over entries that only the anchor of the damaged directory has, and makes an anchor for the fresh directory.
Result<void> prove_end(rocksdb::DB& fresh, const std::string& damaged, const std::string& directory,
                       SalvageOutcome& outcome) {
  const AnchorFile::Found found = AnchorFile::read(damaged);
  CommitNumber end = end_of(fresh).value_or(CommitNumber{});
  Anchor anchor = found.anchor.value_or(Anchor{});
  const SalvageLoss before = anchor.untold.value_or(SalvageLoss{});
  outcome.gaps += before.gaps;
  outcome.end_unknown = before.end_unknown || (!found.anchor.has_value() && (found.exists || end.number > 0));
  rocksdb::WriteBatch changes;
  if (anchor.number > end.number) {
    const bool has_last = !anchor.batch.empty();
    outcome.commits_lost = anchor.number - end.number - (has_last ? 1 : 0);
    if (has_last) changes = rocksdb::WriteBatch{anchor.batch};
    for (const auto& [key, value] : anchor.doubled)
      if (!value.empty() && !changes.Put(slice(key), slice(value)).ok()) break;
    end = {anchor.number, anchor.chain};
  }
  outcome.commits_lost += before.commits_lost;
  const std::string last = encode_end(end);
  rocksdb::Status status = changes.Put(slice(kEndKey), slice(last));
  rocksdb::WriteOptions writing;
  writing.sync = true;
  if (status.ok()) status = fresh.Write(writing, &changes);
  if (!status.ok()) return error_of(status, directory);
  anchor.number = end.number;
  anchor.chain = end.chain;
  anchor.batch.clear();
  anchor.rewritten = true;
  anchor.untold = outcome;
  const Result<std::unique_ptr<AnchorFile>> file = AnchorFile::open(directory, anchor);
  if (!file) return file.error();
  return {};
}

Result<void> copy_into_fresh(const RocksdbOptions& damaged, const RocksdbOptions& fresh, SalvageOutcome& outcome) {
  rocksdb::Options options = options_of(fresh);
  options.disable_auto_compactions = true;  // The next user has the time for it.
  rocksdb::DB* opened = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, fresh.directory, &opened);
  if (!status.ok()) return error_of(status, fresh.directory);
  const std::unique_ptr<rocksdb::DB> target{opened};
  status = copy_remains(damaged.directory, options_of(damaged), *target, outcome);
  if (!status.ok()) return error_of(status, fresh.directory);
  if (fresh.provable) PENSTOCK_TRY(prove_end(*target, damaged.directory, fresh.directory, outcome));
  status = target->Close();
  if (!status.ok()) return error_of(status, fresh.directory);
  return {};
}

/// Opening a directory cuts a torn end off, and with it all that follows a damaged place, before a salvage could read
/// it. So the unreadable parts of the logs are first compared with the promised commits.
Result<void> check_logs(const RocksdbOptions& options, StorageFindings& findings) {
  const LogsRead logs = read_logs(access_of(options));
  if (logs.gaps > 0)
    return Error{ErrorCode::StorageDamaged, options.directory,
                 "its log cannot be read in " + std::to_string(logs.gaps) + " places that have something behind them",
                 "start once with `--salvage` to keep what is intact"};
  findings.torn = logs.torn;
  if (!logs.torn || !options.provable) return {};
  rocksdb::Options reading = options_of(options);
  reading.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  rocksdb::DB* opened = nullptr;
  if (const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(reading, access_of(options), &opened); !status.ok())
    return error_of_opening(status, options.directory);
  const std::unique_ptr<rocksdb::DB> database{opened};
  PENSTOCK_TRY(ProvenEnd::compare(options.directory, end_of(*database), AnchorFile::read(access_of(options))));
  // RocksDB skips a commit that is too short, and refuses one of the right length with other bytes: a page that did not
  // reach the disk before a power cut. All promised commits are before it, so both are cut off. Recovery to a point in
  // time would cut as well, but a kill before it has removed the torn log would leave that log and a newer one.
  return cut_torn_log(access_of(options));
}

/// REQUIRES: the directory is locked.
Result<std::unique_ptr<Storage>> open_locked(const RocksdbOptions& options, DirectoryLock lock,
                                             StorageFindings& findings) {
  const std::string& access = access_of(options);
  if (has_lost_its_root(access))
    return Error{ErrorCode::StorageDamaged, options.directory, "has lost its file CURRENT",
                 "start once with `--salvage` to keep what is intact"};
  PENSTOCK_TRY(ListLength::check(access));
  PENSTOCK_TRY(check_logs(options, findings));
  const auto list_length = std::make_shared<ListLength>(access);
  rocksdb::Options database_options = options_of(options);
  database_options.listeners.push_back(list_length);
  rocksdb::DB* opened = nullptr;
  if (const rocksdb::Status status = rocksdb::DB::Open(database_options, access, &opened); !status.ok())
    return error_of_opening(status, options.directory);
  std::unique_ptr<rocksdb::DB> database{opened};
  std::unique_ptr<ProvenEnd> end;
  if (options.provable) {
    RocksdbOptions reached = options;
    reached.directory = access;
    Result<std::unique_ptr<ProvenEnd>> proven = ProvenEnd::open(*database, reached, findings);
    if (!proven) return proven.error();
    end = std::move(proven).value();
  }
  auto storage = std::make_unique<OpenRocksdb>(std::move(lock), std::move(database), options,
                                               std::move(database_options), list_length, std::move(end));
  // For the message to a second opener.
  std::ofstream{owner_file(access), std::ios::trunc} << options.owner << '\n';
  return std::unique_ptr<Storage>{std::move(storage)};
}

}  // namespace

Result<std::unique_ptr<Storage>> RocksdbStorage::open(const RocksdbOptions& options, StorageFindings* findings) {
  std::error_code code;
  PENSTOCK_TRY(finish_replacement(options.directory));
  fs::create_directories(options.directory, code);
  if (code) return file_error(options.directory, code);
  // Locked before anything is examined: another process may be making the directory.
  Result<DirectoryLock> lock = lock_directory(options, kHoldersLock);
  if (!lock) return lock.error();
  StorageFindings found;
  Result<std::unique_ptr<Storage>> opened = open_locked(options, std::move(lock).value(), found);
  if (opened && found.torn) found.torn = !found.mended;
  if (findings != nullptr) *findings = found;
  return opened;
}

Result<SalvageOutcome> RocksdbStorage::salvage(const RocksdbOptions& options) {
  SalvageOutcome outcome;
  std::error_code code;
  PENSTOCK_TRY(finish_replacement(options.directory));
  if (!fs::exists(options.directory, code)) return outcome;
  // The holder of a lock continues to write; older supervisors hold the database's lock only.
  const Result<DirectoryLock> lock = lock_directory(options, kHoldersLock);
  if (!lock) return lock.error();
  const Result<DirectoryLock> database_lock = lock_directory(options, kDatabaseLock);
  if (!database_lock) return database_lock.error();
  RocksdbOptions fresh = options;
  fresh.directory = fresh_beside(options.directory);
  PENSTOCK_TRY(copy_into_fresh(options, fresh, outcome));
  Result<std::string> kept = replace_directory(options.directory, "damaged");
  if (!kept) return kept.error();
  outcome.damaged_directory = std::move(kept).value();
  return outcome;
}

}  // namespace penstock
