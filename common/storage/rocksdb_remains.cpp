#include "common/storage/rocksdb_remains.hpp"

#include <rocksdb/db.h>
#include <rocksdb/utilities/debug.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// What RocksDB calls a value in its files; whatever else stands there says that the key was erased, or merges, which
/// nobody here writes.
constexpr int kIsValue = 1;

/// By key: when what the target has of it was written.
using Written = std::map<std::string, rocksdb::SequenceNumber>;

std::vector<fs::path> files_of(const fs::path& directory, const std::string& beginning, const std::string& extension) {
  std::vector<fs::path> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator{directory, code}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(beginning) && name.ends_with(extension)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> copy_versions(rocksdb::DB& database, Written& written, Storage& target, SalvageOutcome& outcome) {
  std::string first;
  std::size_t at_once = 64;  // Values may be of a megabyte.
  const std::string end(64, '\xff');
  for (;;) {
    std::vector<rocksdb::KeyVersion> versions;
    const bool whole = rocksdb::GetAllKeyVersions(&database, first, end, at_once, &versions).ok();
    StorageBatch batch;
    for (rocksdb::KeyVersion& version : versions) {
      const auto [known, is_new] = written.try_emplace(version.user_key, 0);
      if (!is_new && known->second >= version.sequence) continue;
      known->second = version.sequence;
      if (version.type == kIsValue) {
        ++outcome.entries_kept;
        batch.put(version.user_key, std::move(version.value));
      } else {
        batch.erase(version.user_key);
      }
    }
    PENSTOCK_TRY(target.commit(batch, Sync::No));
    if (!whole) ++outcome.gaps;
    if (!whole || versions.size() < at_once) return {};
    // One key with more versions than fit is asked for with more room.
    if (versions.back().user_key == first) at_once *= 2;
    first = versions.back().user_key;
  }
}

Result<void> copy_alone(const fs::path& table, const rocksdb::Options& options, Storage& target, Written& written,
                        SalvageOutcome& outcome) {
  const fs::path place = table.parent_path() / "alone";
  std::error_code code;
  fs::remove_all(place, code);
  fs::create_directories(place, code);
  fs::create_hard_link(table, place / table.filename(), code);
  if (code) fs::copy_file(table, place / table.filename(), code);
  rocksdb::DB* opened = nullptr;
  const bool usable = !code && rocksdb::RepairDB(place.string(), options).ok() &&
                      rocksdb::DB::Open(options, place.string(), &opened).ok();
  const std::unique_ptr<rocksdb::DB> database{opened};
  if (usable)
    PENSTOCK_TRY(copy_versions(*database, written, target, outcome));
  else
    ++outcome.gaps;
  return {};
}

}  // namespace

void restore_root(const std::string& directory) {
  const std::vector<fs::path> lists = files_of(directory, "MANIFEST-", "");
  if (lists.empty()) return;
  std::ifstream file{directory + "/CURRENT"};
  std::string named;
  std::getline(file, named);
  const bool known =
      std::any_of(lists.begin(), lists.end(), [&](const fs::path& list) { return list.filename() == named; });
  if (known) return;
  std::ofstream{directory + "/CURRENT", std::ios::trunc} << lists.back().filename().string() << '\n';
}

Result<void> copy_each_file(const std::string& directory, const rocksdb::Options& options, Storage& target,
                            SalvageOutcome& outcome) {
  rocksdb::Options quiet = options;
  quiet.disable_auto_compactions = true;
  Written written;
  for (const fs::path& table : files_of(directory, "", ".sst"))
    PENSTOCK_TRY(copy_alone(table, quiet, target, written, outcome));
  std::error_code ignored;
  fs::remove_all(directory + "/alone", ignored);
  return target.commit({}, Sync::Yes);
}

}  // namespace penstock
