#include "worker/store/datum_file.hpp"

#include <fcntl.h>
#include <lz4.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "common/host/descriptor.hpp"
#include "worker/store/block_hash.hpp"

namespace penstock::worker {
namespace {

// The header, as structs in the layout of the file.
constexpr std::uint32_t kMagic = 0x50534e50;  // "PNSP"
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;
struct FileHead {
  std::uint32_t magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t job = 0;
  std::uint32_t subtask = 0;
  std::uint32_t output = 0;
  std::uint32_t chunk_bytes = kChunkBytes;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;  ///< Of all fields before.
};
struct ChunkHead {
  std::uint32_t stored = 0;      ///< Bytes in the file.
  std::uint32_t compressed = 0;  ///< 0 or 1.
  std::uint64_t hash = 0;        ///< Of those bytes, with the chunk's number as seed: chunks cannot change places.
};

FileHead head_of(const DataKey& key, std::size_t bytes) {
  FileHead head;
  head.job = key.producer.job.value();
  head.subtask = key.producer.index.value();
  head.output = key.output;
  head.bytes = bytes;
  head.hash = block_hash({reinterpret_cast<const std::byte*>(&head), offsetof(FileHead, hash)});
  return head;
}

Error storage_error(const std::string& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return Error{full ? ErrorCode::StorageFull : ErrorCode::InvalidArgument, path,
               std::string{"cannot be written: "} + std::strerror(number), "name another spill directory"};
}

bool write_all(const Descriptor& file, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file.get(), at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(const Descriptor& file, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(file.get(), at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Writes the chunks of one datum; if the first chunk does not shrink, the rest is written plain.
class ChunkWriter {
 public:
  explicit ChunkWriter(const Descriptor& file) : file_(file) {}

  bool write(std::span<const std::byte> chunk) {
    ChunkHead head;
    const void* data = chunk.data();
    head.stored = static_cast<std::uint32_t>(chunk.size());
    if (compresses_) {
      const int bound = LZ4_compressBound(static_cast<int>(chunk.size()));
      scratch_.resize(static_cast<std::size_t>(bound));
      const int size = LZ4_compress_fast(reinterpret_cast<const char*>(chunk.data()), scratch_.data(),
                                         static_cast<int>(chunk.size()), bound, 4);
      compresses_ = size > 0 && static_cast<std::size_t>(size) < chunk.size() / 8 * 7;
      if (compresses_) {
        head.stored = static_cast<std::uint32_t>(size);
        head.compressed = 1;
        data = scratch_.data();
      }
    }
    head.hash = block_hash({reinterpret_cast<const std::byte*>(data), head.stored}, number_++);
    written_ += static_cast<std::int64_t>(sizeof head + head.stored);
    return write_all(file_, &head, sizeof head) && write_all(file_, data, head.stored);
  }
  std::int64_t written() const { return written_; }

 private:
  const Descriptor& file_;
  bool compresses_ = true;
  std::uint64_t number_ = 0;
  std::int64_t written_ = 0;
  std::vector<char> scratch_;
};

bool read_chunk(const Descriptor& file, std::span<std::byte> chunk, std::uint64_t number, std::vector<char>& scratch) {
  ChunkHead head;
  if (!read_all(file, &head, sizeof head) || head.stored > chunk.size() || head.compressed > 1) return false;
  if (head.compressed == 0)
    return head.stored == chunk.size() && read_all(file, chunk.data(), chunk.size()) &&
           block_hash(chunk, number) == head.hash;
  scratch.resize(head.stored);
  if (!read_all(file, scratch.data(), head.stored)) return false;
  if (block_hash(std::as_bytes(std::span{scratch.data(), head.stored}), number) != head.hash) return false;
  return LZ4_decompress_safe(scratch.data(), reinterpret_cast<char*>(chunk.data()), static_cast<int>(head.stored),
                             static_cast<int>(chunk.size())) == static_cast<int>(chunk.size());
}

}  // namespace

Result<std::int64_t> write_datum_file(const std::string& path, const DataKey& key, std::span<const std::byte> bytes,
                                      Durably durably) {
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) return storage_error(path, errno);
  const FileHead head = head_of(key, bytes.size());
  ChunkWriter writer{file};
  bool written = write_all(file, &head, sizeof head);
  for (std::size_t at = 0; written && at < bytes.size(); at += kChunkBytes)
    written = writer.write(bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at)));
  if (written && durably == Durably::Yes) written = ::fsync(file.get()) == 0;
  if (written) return static_cast<std::int64_t>(sizeof head) + writer.written();
  const int number = errno;
  ::unlink(path.c_str());
  return storage_error(path, number);
}

Result<void> read_datum_file(const std::string& path, const DataKey& key,
                             const std::function<std::byte*(std::size_t)>& room_for) {
  const Error damaged{ErrorCode::StorageDamaged, path, "fails its checksum or is cut short",
                      "its datum is read from another copy or made again"};
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  FileHead head;
  if (!file || !read_all(file, &head, sizeof head)) return damaged;
  const FileHead expected = head_of(key, head.bytes);
  if (std::memcmp(&head, &expected, sizeof head) != 0) return damaged;
  std::byte* room = room_for(head.bytes);
  if (room == nullptr)
    return Error{ErrorCode::ResourceExhausted, to_string(key), "there is no memory to read it into", {}};
  std::vector<char> scratch;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < head.bytes; at += kChunkBytes) {
    const std::span chunk{room + at, std::min<std::size_t>(kChunkBytes, head.bytes - at)};
    if (!read_chunk(file, chunk, number++, scratch)) return damaged;
  }
  return {};
}

}  // namespace penstock::worker
