#include "common/storage/rocksdb_remains.hpp"

#include <rocksdb/sst_file_reader.h>
#include <rocksdb/wal_filter.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/storage/durable_files.hpp"
#include "common/storage/rocksdb_list.hpp"
#include "common/storage/rocksdb_pieces.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadBytes = std::size_t{1} << 20U;
constexpr std::size_t kBatchBytes = std::size_t{4} << 20U;

/// The files by name, which is their order of creation: the numbers in their names have leading zeros.
std::vector<fs::path> files_with(const fs::path& directory, const std::string& extension) {
  std::vector<fs::path> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator{directory, code})
    if (entry.path().extension() == extension) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Reads the whole file; unreadable parts are zeros, as if they had been overwritten.
void read_file(const fs::path& path, std::string& bytes) {
  std::error_code code;
  const std::uintmax_t size = fs::file_size(path, code);
  bytes.assign(code ? 0 : size, '\0');
  std::ifstream file{path, std::ios::binary};
  for (std::size_t at = 0; at < bytes.size(); at += kReadBytes) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    file.read(bytes.data() + at, static_cast<std::streamsize>(std::min(kReadBytes, bytes.size() - at)));
  }
}

/// The lists of a directory, if they can be read and every file that they name is there.
struct Listed {
  std::set<std::string> tables;
  std::uint64_t sequence = 0;  ///< Of the last change in them.
};

/// Keeps the logs out of a database that is asked for its lists.
class WithoutLogs final : public rocksdb::WalFilter {
 public:
  const char* Name() const override { return "WithoutLogs"; }
  WalProcessingOption LogRecord(const rocksdb::WriteBatch& /*batch*/, rocksdb::WriteBatch* /*changed*/,
                                bool* /*is_changed*/) const override {
    return WalProcessingOption::kIgnoreCurrentRecord;
  }
};

/// Asks the database itself, which only reads.
std::optional<Listed> read_lists(const std::string& directory, rocksdb::Options options) {
  WithoutLogs without_logs;
  options.wal_filter = &without_logs;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  // Without this a read-only open of lists that name logs ends the process, by an assertion of RocksDB 7.8.
  options.track_and_verify_wals_in_manifest = true;
  rocksdb::DB* opened = nullptr;
  if (!rocksdb::DB::OpenForReadOnly(options, directory, &opened).ok()) return std::nullopt;
  const std::unique_ptr<rocksdb::DB> database{opened};
  std::vector<rocksdb::LiveFileMetaData> files;
  database->GetLiveFilesMetaData(&files);
  Listed listed;
  listed.sequence = database->GetLatestSequenceNumber();
  for (const rocksdb::LiveFileMetaData& file : files) listed.tables.insert(fs::path{file.name}.filename());
  return listed;
}

/// Whether the oldest log continues where the lists end. If not, a log is lost, or the end of the lists.
bool is_whole(const Listed& listed, const std::vector<fs::path>& logs) {
  if (logs.empty()) return true;
  std::string bytes;
  read_file(logs.front(), bytes);
  return read_log_pieces(bytes, [](const Piece&) {}).first_sequence <= listed.sequence + 1;
}

/// Merges the pieces.
class Remains {
 public:
  Remains(rocksdb::DB& target, SalvageOutcome& outcome) : target_(target), outcome_(outcome) {
    // All of it is flushed at the end, or the salvage fails.
    writing_.disableWAL = true;
  }

  void take(const Piece& piece) {
    if (piece.kind == Piece::Kind::ErasedRange) {
      ranges_.push_back({std::string{piece.key}, std::string{piece.value}, piece.sequence});
      return;
    }
    const auto [known, is_new] = newest_.try_emplace(std::string{piece.key});
    if (!is_new && known->second.sequence >= piece.sequence) return;
    const bool is_value = piece.kind == Piece::Kind::Value;
    if (is_value)
      put(piece);
    else if (known->second.is_value)
      erase(piece.key);
    known->second = {piece.sequence, is_value};
  }
  /// Removes the keys of erased ranges after all pieces are known.
  rocksdb::Status finish() {
    for (const Range& range : ranges_)
      for (auto at = newest_.lower_bound(range.first); at != newest_.end() && at->first < range.end; ++at)
        if (at->second.is_value && at->second.sequence < range.sequence) {
          erase(at->first);
          at->second.is_value = false;
        }
    for (const auto& [key, version] : newest_) outcome_.entries_kept += version.is_value ? 1 : 0;
    write();
    return status_.ok() ? target_.Flush({}) : status_;
  }
  const rocksdb::Status& status() const { return status_; }

 private:
  struct Version {
    std::uint64_t sequence = 0;
    bool is_value = false;
  };
  struct Range {
    std::string first;
    std::string end;
    std::uint64_t sequence = 0;
  };

  void put(const Piece& piece) {
    keep(batch_.Put({piece.key.data(), piece.key.size()}, {piece.value.data(), piece.value.size()}));
  }
  void erase(std::string_view key) { keep(batch_.Delete({key.data(), key.size()})); }
  void keep(const rocksdb::Status& status) {
    if (status_.ok()) status_ = status;
    if (batch_.GetDataSize() > kBatchBytes) write();
  }
  void write() {
    if (status_.ok()) status_ = target_.Write(writing_, &batch_);
    batch_.Clear();
  }

  rocksdb::DB& target_;
  SalvageOutcome& outcome_;
  rocksdb::WriteOptions writing_;
  rocksdb::WriteBatch batch_;
  rocksdb::Status status_;
  std::map<std::string, Version> newest_;
  std::vector<Range> ranges_;
};

/// The number of entries that the file records for itself; none if its end cannot be read.
std::optional<std::uint64_t> entries_of(const fs::path& table, const rocksdb::Options& options) {
  rocksdb::SstFileReader reader{options};
  if (!reader.Open(table.string()).ok()) return std::nullopt;
  return reader.GetTableProperties()->num_entries;
}

}  // namespace

rocksdb::Status copy_remains(const std::string& directory, const rocksdb::Options& options, rocksdb::DB& target,
                             SalvageOutcome& outcome) {
  Remains remains{target, outcome};
  const PieceVisit take = [&remains](const Piece& piece) { remains.take(piece); };
  const std::vector<fs::path> logs = files_with(directory, ".log");
  std::optional<Listed> listed;
  if (ListLength::check(directory)) listed = read_lists(directory, options);
  if (listed && !is_whole(*listed, logs)) listed.reset();
  if (!listed) ++outcome.gaps;
  std::string bytes;
  for (const fs::path& table : files_with(directory, ".sst")) {
    if (listed && !listed->tables.contains(table.filename())) {
      // A merge writes into files of higher numbers, so this file is an old one.
      if (!listed->tables.empty() && table.filename() < *listed->tables.rbegin()) continue;
      ++outcome.gaps;
    }
    read_file(table, bytes);
    if (entries_of(table, options) != read_table_pieces(bytes, take)) ++outcome.gaps;
    if (!remains.status().ok()) return remains.status();
  }
  std::uint64_t expected = listed ? listed->sequence + 1 : UINT64_MAX;
  for (const fs::path& log : logs) {
    read_file(log, bytes);
    const LogRead read = read_log_pieces(bytes, take);
    // A log that is not the newest was ended in order, and the next one continues where it ended.
    outcome.gaps += read.gaps + (read.torn && log != logs.back() ? 1 : 0) + (read.first_sequence > expected ? 1 : 0);
    expected = std::max(expected == UINT64_MAX ? 0 : expected, read.last_sequence + 1);
    if (!remains.status().ok()) return remains.status();
  }
  return remains.finish();
}

LogsRead read_logs(const std::string& directory) {
  LogsRead all;
  std::string bytes;
  for (const fs::path& log : files_with(directory, ".log")) {
    read_file(log, bytes);
    const LogRead read = read_log_pieces(bytes, [](const Piece&) {});
    all.gaps += read.gaps + (all.torn ? 1 : 0);  // Only the newest log may be torn.
    all.torn = read.torn;
  }
  return all;
}

Result<void> cut_torn_log(const std::string& directory) {
  const fs::path newest = files_with(directory, ".log").back();
  std::string bytes;
  read_file(newest, bytes);
  std::error_code code;
  fs::resize_file(newest, extent_of_log(bytes).end, code);
  if (code) return Error{ErrorCode::Internal, newest.string(), code.message(), {}};
  return sync_path(newest.string());
}

}  // namespace penstock
