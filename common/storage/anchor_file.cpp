#include "common/storage/anchor_file.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "common/storage/durable_files.hpp"

namespace penstock {
namespace {

constexpr const char* kName = "/ANCHOR";
constexpr std::uint64_t kMagic = 0x3152'4f48'434e'4150;  // "PANCHOR1"
constexpr std::size_t kSlotBytes = 32768;
constexpr std::size_t kHeadBytes = 24;  // Magic, checksum, bytes of the rest.

void append_number(std::string& bytes, std::uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>((number >> shift) & 0xffU);
}

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, text.size());
  bytes += text;
}

/// Reads the results of the functions above; `fine` becomes false when bytes are missing.
struct Reader {
  std::string_view rest;
  bool fine = true;

  std::uint64_t number() {
    if (rest.size() < 8) return fine = false, 0;
    std::uint64_t sum = 0;
    for (unsigned i = 8; i-- > 0;) sum = (sum << 8U) | static_cast<unsigned char>(rest[i]);
    rest.remove_prefix(8);
    return sum;
  }
  std::string text() {
    const std::uint64_t bytes = number();
    if (!fine || bytes > rest.size()) return fine = false, "";
    const std::string found{rest.substr(0, bytes)};
    rest.remove_prefix(bytes);
    return found;
  }
};

struct Slot {
  std::uint64_t revision = 0;
  Anchor anchor;
};

std::string encode(const Anchor& anchor, std::uint64_t revision) {
  std::string body;
  append_number(body, revision);
  append_number(body, anchor.number);
  append_number(body, anchor.chain);
  append_number(body, anchor.rewritten ? 1 : 0);
  append_number(body, anchor.doubled.size());
  for (const auto& [key, value] : anchor.doubled) {
    append_text(body, key);
    append_text(body, value);
  }
  append_text(body, anchor.batch);
  append_number(body, anchor.untold ? 1 : 0);
  if (anchor.untold) {
    append_number(body, anchor.untold->gaps);
    append_number(body, anchor.untold->commits_lost);
    append_number(body, anchor.untold->end_unknown ? 1 : 0);
  }
  std::string slot;
  append_number(slot, kMagic);
  append_number(slot, XXH3_64bits(body.data(), body.size()));
  append_number(slot, body.size());
  return slot + body;
}

std::optional<Slot> decode(std::string_view bytes) {
  Reader head{bytes.substr(0, kHeadBytes)};
  const std::uint64_t magic = head.number();
  const std::uint64_t checksum = head.number();
  const std::uint64_t size = head.number();
  if (!head.fine || magic != kMagic || size > bytes.size() - kHeadBytes) return std::nullopt;
  Reader body{bytes.substr(kHeadBytes, size)};
  if (XXH3_64bits(body.rest.data(), body.rest.size()) != checksum) return std::nullopt;
  Slot slot;
  slot.revision = body.number();
  slot.anchor.number = body.number();
  slot.anchor.chain = body.number();
  slot.anchor.rewritten = body.number() != 0;
  for (std::uint64_t left = body.number(); left > 0 && body.fine; --left) {
    std::string key = body.text();
    slot.anchor.doubled[std::move(key)] = body.text();
  }
  slot.anchor.batch = body.text();
  if (!body.rest.empty() && body.number() != 0) {  // An older version ends before this field.
    SalvageLoss& untold = slot.anchor.untold.emplace();
    untold.gaps = body.number();
    untold.commits_lost = body.number();
    untold.end_unknown = body.number() != 0;
  }
  return body.fine ? std::optional{std::move(slot)} : std::nullopt;
}

std::optional<Slot> newest_slot(const std::string& directory, bool& exists) {
  std::ifstream file{directory + kName, std::ios::binary};
  exists = file.is_open();
  std::stringstream text;
  text << file.rdbuf();
  const std::string bytes = text.str();
  std::optional<Slot> newest;
  for (std::size_t at = 0; at < bytes.size(); at += kSlotBytes) {
    std::optional<Slot> slot = decode(std::string_view{bytes}.substr(at, kSlotBytes));
    if (slot && (!newest || slot->revision > newest->revision)) newest = std::move(slot);
  }
  return newest;
}

Error error_of_system(const std::string& directory, int code) {
  if (code == ENOSPC || code == EDQUOT)
    return {ErrorCode::StorageFull, directory, "the disk is full",
            "make room; waiting commits are written as soon as there is some"};
  return {ErrorCode::Internal, directory, "its anchor cannot be written: " + std::generic_category().message(code),
          "nothing more is accepted; repair the disk, and start again: all promised commits are there"};
}

}  // namespace

AnchorFile::Found AnchorFile::read(const std::string& directory) {
  Found found;
  if (std::optional<Slot> slot = newest_slot(directory, found.exists)) found.anchor = std::move(slot->anchor);
  return found;
}

bool AnchorFile::fits(const Anchor& anchor) {
  std::size_t bytes = kHeadBytes + 96 + anchor.batch.size();
  for (const auto& [key, value] : anchor.doubled) bytes += 16 + key.size() + value.size();
  return bytes <= kSlotBytes;
}

Result<std::unique_ptr<AnchorFile>> AnchorFile::open(const std::string& directory, const Anchor& anchor) {
  bool exists = false;
  const std::optional<Slot> before = newest_slot(directory, exists);
  const std::string path = directory + kName;
  if (!exists) {
    // Written whole from the beginning, so that later writes never need new blocks of the file system.
    const std::string fresh = path + ".new";
    std::string bytes = encode(anchor, 1);
    bytes.resize(2 * kSlotBytes, '\0');
    std::ofstream{fresh, std::ios::binary | std::ios::trunc} << bytes;
    PENSTOCK_TRY(sync_path(fresh));
    std::error_code code;
    std::filesystem::rename(fresh, path, code);
    if (code) return error_of_system(directory, code.value());
    PENSTOCK_TRY(sync_path(directory));
  }
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return error_of_system(directory, errno);
  std::unique_ptr<AnchorFile> opened{new AnchorFile{file, directory}};
  opened->revision_ = before ? before->revision : 1;
  for (int slot = 0; slot < 2; ++slot) PENSTOCK_TRY(opened->write(anchor));
  return opened;
}

AnchorFile::AnchorFile(int file, std::string directory)
    : file_(file), directory_(std::move(directory)), thread_([this] { run(); }) {}

AnchorFile::~AnchorFile() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  ::close(file_);
}

Result<void> AnchorFile::write(const Anchor& anchor) {
  const std::string bytes = encode(anchor, ++revision_);
  newest_ ^= 1U;
  return write_slot(newest_, bytes);
}

void AnchorFile::begin_write(const Anchor& anchor) {
  std::string bytes = encode(anchor, ++revision_);
  newest_ ^= 1U;
  {
    const std::lock_guard lock{mutex_};
    ordered_ = std::move(bytes);
    done_.reset();
  }
  changed_.notify_all();
}

Result<void> AnchorFile::finish_write() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return done_.has_value(); });
  return *done_;
}

Result<void> AnchorFile::take_back(const Anchor& before) { return write_slot(newest_, encode(before, ++revision_)); }

Result<void> AnchorFile::write_slot(unsigned slot, const std::string& bytes) {
  const auto begin = static_cast<off_t>(slot * kSlotBytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::pwrite(file_, bytes.data() + at, bytes.size() - at, begin + static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return error_of_system(directory_, errno);
    at += static_cast<std::size_t>(written);
  }
  if (::fdatasync(file_) != 0) return error_of_system(directory_, errno);
  return {};
}

void AnchorFile::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || ordered_.has_value(); });
    if (!ordered_) return;
    const std::string bytes = std::move(*ordered_);
    ordered_.reset();
    lock.unlock();
    Result<void> result = write_slot(newest_, bytes);
    lock.lock();
    done_ = std::move(result);
    changed_.notify_all();
  }
}

}  // namespace penstock
