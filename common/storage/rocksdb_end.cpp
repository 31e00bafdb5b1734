#include "common/storage/rocksdb_end.hpp"

#include <xxhash.h>

#include <algorithm>

#include "common/base/coverage_mark.hpp"

namespace penstock {
namespace {

constexpr std::size_t kBatchHeaderBytes = 12;  // The database writes its own sequence number into it.

const char* const kWayOut =
    "start once with `--salvage` to keep what is there and list what is lost, or put back a backup with "
    "`penstock state restore`";

/// The hash of a batch and of the chain before.
std::uint64_t chain_of(std::uint64_t before, const rocksdb::WriteBatch& changes) {
  const std::string& bytes = changes.Data();
  return XXH3_64bits_withSeed(bytes.data() + kBatchHeaderBytes, bytes.size() - kBatchHeaderBytes, before);
}

rocksdb::Status put_end(rocksdb::WriteBatch& changes, const CommitNumber& end) {
  return changes.Put({kEndKey.data(), kEndKey.size()}, encode_end(end));
}

bool is_next_in(const Anchor& anchor, const CommitNumber& end) {
  return anchor.number == end.number + 1 && !anchor.batch.empty();
}

}  // namespace

std::string encode_end(const CommitNumber& end) {
  std::string value;
  for (const std::uint64_t number : {end.number, end.chain})
    for (unsigned shift = 0; shift < 64; shift += 8) value += static_cast<char>((number >> shift) & 0xffU);
  return value;
}

std::optional<CommitNumber> decode_end(std::string_view value) {
  if (value.size() != 16) return std::nullopt;
  const auto number_at = [&](std::size_t at) {
    std::uint64_t number = 0;
    for (std::size_t i = 8; i-- > 0;) number = (number << 8U) | static_cast<unsigned char>(value[at + i]);
    return number;
  };
  return CommitNumber{number_at(0), number_at(8)};
}

std::optional<CommitNumber> end_of(rocksdb::DB& database) {
  std::string value;
  if (!database.Get({}, {kEndKey.data(), kEndKey.size()}, &value).ok()) return std::nullopt;
  return decode_end(value);
}

Result<void> ProvenEnd::compare(const std::string& directory, const std::optional<CommitNumber>& end,
                                const AnchorFile::Found& found) {
  const CommitNumber last = end.value_or(CommitNumber{});
  if (!found.anchor.has_value()) {
    if (!end.has_value() && !found.exists) return {};  // No commit has been numbered yet.
    return Error{ErrorCode::StorageDamaged, directory,
                 std::string{found.exists ? "its anchor is damaged" : "has lost its anchor"} +
                     ": whether commit " + std::to_string(last.number) + ", where it ends, was the last is not known",
                 kWayOut};
  }
  const Anchor& anchor = *found.anchor;
  if (last.number > anchor.number || is_next_in(anchor, last)) return {};
  if (last.number < anchor.number)
    return Error{ErrorCode::StorageDamaged, directory,
                 "ends with commit " + std::to_string(last.number) + ", and commit " + std::to_string(anchor.number) +
                     " was promised",
                 kWayOut};
  if (last.chain == anchor.chain) return {};
  return Error{ErrorCode::StorageDamaged, directory,
               "its commit " + std::to_string(last.number) + " is another one than its anchor tells of", kWayOut};
}

Result<std::unique_ptr<ProvenEnd>> ProvenEnd::open(rocksdb::DB& database, const RocksdbOptions& options,
                                                   StorageFindings& findings) {
  const AnchorFile::Found found = AnchorFile::read(options.directory);
  const std::optional<CommitNumber> end = end_of(database);
  PENSTOCK_TRY(compare(options.directory, end, found));
  Anchor anchor = found.anchor.value_or(Anchor{});
  CommitNumber last = end.value_or(CommitNumber{});
  if (is_next_in(anchor, last)) {
    PENSTOCK_COVERAGE_MARK("the last commit was taken from the anchor");
    rocksdb::WriteBatch batch{anchor.batch};
    rocksdb::WriteOptions writing;
    writing.sync = true;
    if (const rocksdb::Status status = database.Write(writing, &batch); !status.ok())
      return Error{ErrorCode::Internal, options.directory, status.ToString(), {}};
    findings.mended = true;
    last = end_of(database).value_or(CommitNumber{});
  }
  findings.beyond_anchor = last.number - anchor.number;
  findings.last = last.number;
  findings.rewritten = anchor.rewritten;
  findings.untold = anchor.untold;
  anchor.number = last.number;
  anchor.chain = last.chain;
  anchor.batch.clear();
  for (const std::string& key : options.doubled) {
    std::string value;
    if (database.Get({}, key, &value).ok()) anchor.doubled[key] = std::move(value);
  }
  Result<std::unique_ptr<AnchorFile>> file = AnchorFile::open(options.directory, anchor);
  if (!file) return file.error();
  std::unique_ptr<ProvenEnd> opened{new ProvenEnd{std::move(file).value()}};
  opened->anchor_ = std::move(anchor);
  for (const std::string& key : options.doubled) opened->anchor_.doubled.try_emplace(key);
  opened->end_ = last;
  return opened;
}

rocksdb::Status ProvenEnd::write(rocksdb::DB& database, rocksdb::WriteBatch& changes, const StorageBatch& batch,
                                 Sync sync, Result<void>& second) {
  const CommitNumber next{end_.number + 1, chain_of(end_.chain, changes)};
  if (const rocksdb::Status status = put_end(changes, next); !status.ok()) return status;
  rocksdb::WriteOptions writing;
  writing.sync = sync == Sync::Yes;
  Anchor anchor = anchor_;
  anchor.number = next.number;
  anchor.chain = next.chain;
  for (const StorageBatch::Change& change : batch.changes) {
    if (change.kind == StorageBatch::Kind::ErasePrefix) continue;
    const auto doubled = anchor.doubled.find(change.key);
    if (doubled == anchor.doubled.end()) continue;
    doubled->second = change.value;
    if (change.kind != StorageBatch::Kind::Put) continue;
    anchor.rewritten = false;  // The first user after a rewrite writes these.
    anchor.untold.reset();
  }
  const bool at_once = sync == Sync::Yes && !has_unsynced_ &&
                       (anchor.batch = changes.Data(), AnchorFile::fits(anchor));
  if (at_once) file_->begin_write(anchor);
  const rocksdb::Status status = database.Write(writing, &changes);
  if (at_once) second = file_->finish_write();
  if (!status.ok()) {
    // The caller may write the commit again, perhaps with other content. If the disk refuses this call, too, the commit
    // was refused and is there nevertheless, as after a failed sync of a log.
    if (at_once) static_cast<void>(file_->take_back(anchor_).has_value());
    return status;
  }
  anchor.batch.clear();
  if (sync == Sync::Yes && !at_once) second = file_->write(anchor);
  has_unsynced_ = sync == Sync::No;
  end_ = next;
  anchor_ = std::move(anchor);
  return status;
}

void ProvenEnd::look_again(rocksdb::DB& database) { end_ = end_of(database).value_or(CommitNumber{}); }

}  // namespace penstock
