#include "common/storage/rocksdb_storage.hpp"

#include <rocksdb/db.h>
#include <rocksdb/flush_block_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "common/storage/rocksdb_remains.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// An empty view may point nowhere, which RocksDB hands to memcmp.
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
  if (status.IsIOError() && (contains(words, "LOCK") || contains(words, "lock hold")))
    return {ErrorCode::StorageLocked, directory, "is held by " + read_owner(directory),
            "end that one first, or give this one a directory of its own with `--state`"};
  if (status.IsNoSpace() || contains(words, "No space left"))
    return {ErrorCode::StorageFull, directory, "the disk is full",
            "make room; what waits is written as soon as there is some"};
  if (status.IsCorruption() || contains(words, "Corruption"))
    return {ErrorCode::StorageDamaged, directory, words, "start once with `--salvage` to keep what is intact"};
  if (status.IsIOError())
    return {ErrorCode::Internal, directory, words,
            "nothing more is accepted; mend the disk, and start again: what was promised is there"};
  return {ErrorCode::Internal, directory, words, "see the LOG file in that directory"};
}

/// Left to itself the database looks every five seconds whether there is room for a whole write buffer.
class WithoutOwnRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* automatic) override {
    *automatic = false;
  }
};

/// When it cannot be opened, what is missing or makes no sense is damage, too.
Error error_of_opening(const rocksdb::Status& status, const std::string& directory) {
  Error error = error_of(status, directory);
  const std::string words = status.ToString();
  const bool of_the_system = status.IsIOError() && !contains(words, "No such file");
  if (error.code != ErrorCode::Internal || of_the_system) return error;
  return {ErrorCode::StorageDamaged, directory, words, "start once with `--salvage` to keep what is intact"};
}

/// RocksDB takes a directory without this file for one that is to be made, whatever else is in it.
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

rocksdb::Options options_of(const RocksdbOptions& wanted) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.compression = rocksdb::kLZ4Compression;
  options.write_buffer_size = wanted.memory_bytes;
  // What is merged has the proportions of what is written: with the default, those of RocksDB.
  options.target_file_size_base = wanted.memory_bytes;
  options.max_bytes_for_level_base = wanted.memory_bytes * 4;
  options.max_total_wal_size = wanted.memory_bytes * 4;
  options.max_open_files = 256;
  options.max_background_jobs = 2;
  options.keep_log_file_num = 4;  // Of its own text log.
  options.max_log_file_size = std::size_t{4} << 20U;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  if (wanted.apart_bytes > 0) {
    rocksdb::BlockBasedTableOptions table;
    table.flush_block_policy_factory = std::make_shared<BlocksApartFactory>(wanted.apart_bytes);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  }
  options.listeners.push_back(std::make_shared<WithoutOwnRecovery>());
  // A torn last record was promised to nobody; damage anywhere else was.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return options;
}

class OpenRocksdb final : public Storage {
 public:
  OpenRocksdb(std::unique_ptr<rocksdb::DB> database, const RocksdbOptions& wanted)
      : directory_(wanted.directory), options_(options_of(wanted)), database_(std::move(database)) {}
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
    for (at->Seek(slice(prefix)); at->Valid() && at->key().starts_with(slice(prefix)); at->Next())
      if (!visit(view(at->key()), view(at->value()))) return {};
    if (!at->status().ok()) return error_of(at->status(), directory_);
    return {};
  }

  Result<void> commit(const StorageBatch& batch, Sync sync) override {
    if (database_ == nullptr && !troubled_) return closed();
    // Fault F12: what is behind a write that failed is not known, and RocksDB aborts when its log is written to again.
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
    rocksdb::WriteOptions writing;
    writing.sync = sync == Sync::Yes;
    const rocksdb::Status status = database_->Write(writing, &changes);
    troubled_ = !status.ok();
    if (status.ok()) return {};
    last_error_ = error_of(status, directory_);
    broken_ = status.IsIOError() && last_error_.code != ErrorCode::StorageFull;
    return last_error_;
  }

  Result<void> close() override {
    troubled_ = false;
    if (database_ == nullptr) return {};
    const rocksdb::Status status = database_->Close();
    database_.reset();
    std::error_code ignored;
    fs::remove(owner_file(directory_), ignored);
    if (!status.ok()) return error_of(status, directory_);
    return {};
  }

 private:
  rocksdb::Status erase_prefix(const std::string& prefix, rocksdb::WriteBatch& changes) {
    const std::string end = end_of_prefix(prefix).value_or(std::string(1024, '\xff'));
    return changes.DeleteRange(database_->DefaultColumnFamily(), slice(prefix), slice(end));
  }
  /// After an error the database refuses to write until it is told that the cause may be gone. Fault F11: one that
  /// found the disk full in the middle of a record cannot be told (it asserts that nobody uses that file again); it is
  /// opened anew, which reads back what is whole. Not before there is room for that: closed, it would lock nobody out.
  Result<void> recover() {
    if (database_ != nullptr && last_error_.code != ErrorCode::StorageFull) {
      if (!database_->Resume().ok()) return last_error_;
      return {};
    }
    std::error_code unknown;
    if (fs::space(directory_, unknown).available < kRoomToReopen || unknown) return last_error_;
    if (database_ != nullptr) static_cast<void>(database_->Close().ok());
    database_.reset();
    rocksdb::DB* database = nullptr;
    if (const rocksdb::Status status = rocksdb::DB::Open(options_, directory_, &database); !status.ok())
      return last_error_ = error_of(status, directory_);
    database_.reset(database);
    return {};
  }
  Error closed() const { return {ErrorCode::WrongState, directory_, "is closed", {}}; }

  static constexpr std::uintmax_t kRoomToReopen = std::uintmax_t{4} << 20U;

  const std::string directory_;
  const rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> database_;
  bool troubled_ = false;  ///< The last commit has failed.
  bool broken_ = false;    ///< For a reason that does not go away: read-only until the next start.
  Error last_error_;
};

using IteratorPtr = std::unique_ptr<rocksdb::Iterator>;
using MakeIterator = std::function<rocksdb::Iterator*()>;

/// An iterator behind a damaged block, at the first entry that can be read again; null if there is none. Nobody says
/// where the block ends, but every key inside it fails: the first key that does not is looked for byte by byte. Each
/// look takes a new iterator, because one that has failed remembers its block (RocksDB 7.8).
IteratorPtr step_over_damage(const MakeIterator& make, const std::string& last) {
  constexpr std::size_t kDepthMax = 32;
  std::string prefix;  // What is larger than `last` and smaller than this cannot be read.
  IteratorPtr resumed;
  for (std::size_t depth = 0; depth < kDepthMax; ++depth) {
    const bool on_path = depth < last.size() && last.starts_with(prefix);
    unsigned byte = on_path ? static_cast<unsigned char>(last[depth]) : 0U;
    for (; byte <= 0xff; ++byte) {
      const std::string candidate = prefix + static_cast<char>(byte);
      if (candidate <= last) continue;
      IteratorPtr at{make()};
      at->Seek(slice(candidate));
      if (!at->Valid() && !at->status().ok()) continue;
      resumed = std::move(at);
      break;
    }
    if (byte == 0) break;
    prefix += static_cast<char>(byte - 1);
  }
  return resumed != nullptr && resumed->Valid() ? std::move(resumed) : nullptr;
}

/// Copies all that can be read. Error: that of the target; damage of the source only counts.
Result<void> copy_readable(const MakeIterator& make, Storage& target, SalvageOutcome& outcome) {
  std::string last;
  StorageBatch batch;
  std::size_t bytes = 0;
  constexpr std::size_t kBatchBytes = std::size_t{8} << 20U;
  IteratorPtr at{make()};
  at->SeekToFirst();
  for (;;) {
    if (!at->Valid()) {
      if (at->status().ok()) break;
      ++outcome.gaps;
      at = step_over_damage(make, last);
      if (at == nullptr) break;
    }
    last = at->key().ToString();
    bytes += last.size() + at->value().size();
    batch.put(last, at->value().ToString());
    ++outcome.entries_kept;
    if (bytes > kBatchBytes) {
      PENSTOCK_TRY(target.commit(std::exchange(batch, {}), Sync::No));
      bytes = 0;
    }
    at->Next();
  }
  return target.commit(batch, Sync::Yes);
}

/// RocksDB 7.8 frees the erased ranges of a file twice that it cannot open: those of a damaged directory are not looked
/// at, and what they had erased comes back. The journal's checks see to that.
enum class Erased : std::uint8_t { Gone, ComesBack };

rocksdb::ReadOptions reading_all(Erased erased = Erased::Gone) {
  rocksdb::ReadOptions reading;
  reading.fill_cache = false;
  reading.ignore_range_deletions = erased == Erased::ComesBack;
  return reading;
}

rocksdb::Options lenient_options(const RocksdbOptions& wanted) {
  rocksdb::Options options = options_of(wanted);
  options.paranoid_checks = false;
  options.create_if_missing = false;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  return options;
}

std::unique_ptr<rocksdb::DB> open_leniently(const RocksdbOptions& wanted) {
  rocksdb::DB* database = nullptr;
  if (!rocksdb::DB::Open(lenient_options(wanted), wanted.directory, &database).ok()) return nullptr;
  return std::unique_ptr<rocksdb::DB>{database};
}

/// The repair gives up a whole sorted file for one bad block of it; the rest of such files is read here, oldest first.
/// What was erased after they were written may come back with them; the journal's checks see to that.
Result<void> copy_given_up_files(const RocksdbOptions& wanted, Storage& target, SalvageOutcome& outcome) {
  std::vector<fs::path> tables;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator{wanted.directory + "/lost", code})
    if (entry.path().extension() == ".sst") tables.push_back(entry.path());
  std::sort(tables.begin(), tables.end());
  for (const fs::path& table : tables) {
    rocksdb::SstFileReader reader{lenient_options(wanted)};
    if (!reader.Open(table.string()).ok()) {
      ++outcome.gaps;
      continue;
    }
    PENSTOCK_TRY(copy_readable([&reader] { return reader.NewIterator(reading_all()); }, target, outcome));
  }
  return {};
}

bool gives_nothing(rocksdb::DB& database, Erased erased) {
  const MakeIterator make = [&] { return database.NewIterator(reading_all(erased)); };
  const IteratorPtr at{make()};
  at->SeekToFirst();
  return !at->Valid() && !at->status().ok() && step_over_damage(make, "") == nullptr;
}

/// Copies what a damaged directory still gives, by ever ruder means.
Result<void> copy_damaged(const RocksdbOptions& wanted, Storage& target, Erased erased, SalvageOutcome& outcome) {
  restore_root(wanted.directory);
  std::unique_ptr<rocksdb::DB> source = open_leniently(wanted);
  // One sorted file that is not there, or was cut, may hide all the others.
  if (source != nullptr && gives_nothing(*source, erased)) source.reset();
  if (source == nullptr) {
    ++outcome.gaps;
    const bool repaired = rocksdb::RepairDB(wanted.directory, lenient_options(wanted)).ok();
    PENSTOCK_TRY(copy_given_up_files(wanted, target, outcome));
    // RocksDB 7.8 gives up when merged files are of overlapping ages, and has written an empty list of files by then:
    // to open it would remove them all.
    if (!repaired) return copy_each_file(wanted.directory, lenient_options(wanted), target, outcome);
    source = open_leniently(wanted);
  }
  if (source == nullptr) return {};
  return copy_readable([&] { return source->NewIterator(reading_all(erased)); }, target, outcome);
}

Error file_error(const std::string& path, const std::error_code& code) {
  const bool full = code == std::errc::no_space_on_device;
  return {full ? ErrorCode::StorageFull : ErrorCode::InvalidArgument, path, code.message(), {}};
}

std::string free_name_beside(const std::string& directory) {
  std::error_code ignored;
  for (int number = 1;; ++number)
    if (std::string name = directory + ".damaged-" + std::to_string(number); !fs::exists(name, ignored)) return name;
}

}  // namespace

Result<std::unique_ptr<Storage>> RocksdbStorage::open(const RocksdbOptions& options) {
  std::error_code code;
  fs::create_directories(options.directory, code);
  if (code) return file_error(options.directory, code);
  if (has_lost_its_root(options.directory))
    return Error{ErrorCode::StorageDamaged, options.directory, "has lost its file CURRENT",
                 "start once with `--salvage` to keep what is intact"};
  rocksdb::DB* database = nullptr;
  if (const rocksdb::Status status = rocksdb::DB::Open(options_of(options), options.directory, &database); !status.ok())
    return error_of_opening(status, options.directory);
  auto storage = std::make_unique<OpenRocksdb>(std::unique_ptr<rocksdb::DB>{database}, options);
  // For whoever comes second. The lock itself is the database's and goes with the process.
  std::ofstream{owner_file(options.directory), std::ios::trunc} << options.owner << '\n';
  return std::unique_ptr<Storage>{std::move(storage)};
}

Result<SalvageOutcome> RocksdbStorage::salvage(const RocksdbOptions& options) {
  SalvageOutcome outcome;
  std::error_code code;
  if (!fs::exists(options.directory, code)) return outcome;
  // Whoever holds the lock must not have the files repaired under it.
  bool damaged = false;
  if (Result<std::unique_ptr<Storage>> attempt = open(options); !attempt) {
    if (attempt.error().code == ErrorCode::StorageLocked) return attempt.error();
    damaged = true;
  }
  RocksdbOptions fresh = options;
  fresh.directory = options.directory + ".salvaged";
  fs::remove_all(fresh.directory, code);  // Of a salvage that was interrupted.
  Result<std::unique_ptr<Storage>> target = open(fresh);
  if (!target) return target.error();
  PENSTOCK_TRY(copy_damaged(options, **target, damaged ? Erased::ComesBack : Erased::Gone, outcome));
  // Records of the log that fail their checksums are passed over without being counted.
  if (damaged && outcome.gaps == 0) outcome.gaps = 1;
  PENSTOCK_TRY((*target)->close());
  outcome.damaged_directory = free_name_beside(options.directory);
  fs::rename(options.directory, outcome.damaged_directory, code);
  if (code) return file_error(options.directory, code);
  fs::rename(fresh.directory, options.directory, code);
  if (code) return file_error(fresh.directory, code);
  return outcome;
}

}  // namespace penstock
