#include "common/storage/rocksdb_pieces.hpp"

#include <lz4.h>
#include <xxhash.h>

#include <boost/crc.hpp>
#include <optional>
#include <string>
#include <utility>

namespace penstock {
namespace {

constexpr std::uint8_t kErased = 0x0;
constexpr std::uint8_t kValue = 0x1;
constexpr std::uint8_t kLogData = 0x3;
constexpr std::uint8_t kErasedOnce = 0x7;
constexpr std::uint8_t kNothing = 0xD;
constexpr std::uint8_t kErasedRange = 0xF;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) number = static_cast<Number>((number << 8U) | byte_at(bytes, at + i));
  return number;
}

/// A varint of 32 bits; moves `at` behind it.
bool take_varint(std::string_view bytes, std::size_t& at, std::uint32_t& number) {
  std::uint64_t sum = 0;
  for (unsigned shift = 0; shift < 35 && at < bytes.size(); shift += 7) {
    const std::uint64_t byte = byte_at(bytes, at++);
    sum |= (byte & 0x7fU) << shift;
    if (byte < 0x80) return number = static_cast<std::uint32_t>(sum), sum <= UINT32_MAX;
  }
  return false;
}

bool take_text(std::string_view bytes, std::size_t& at, std::string_view& text) {
  std::uint32_t size = 0;
  if (!take_varint(bytes, at, size) || size > bytes.size() - at) return false;
  text = bytes.substr(at, size);
  at += size;
  return true;
}

// ---- blocks of sorted files

constexpr std::size_t kBlockTrailerBytes = 5;  // Kind of compression and checksum.
constexpr std::uint8_t kPlain = 0;
constexpr std::uint8_t kLz4 = 4;
constexpr std::size_t kSequenceBytes = 8;  // With the kind, at the end of each key.
constexpr std::size_t kKeyBytesMax = 4096;
constexpr std::uint32_t kRawBytesMax = 1U << 30U;

/// The result of a walk over the entries of a block.
struct Entries {
  std::size_t count = 0;
  std::size_t end = 0;  ///< Offset of the list of restarts.
};

/// Walks over the entries at the beginning of `content`, up to the list of restarts, which begins with the offset 0: no
/// entry can begin with that. None: the bytes are no entries of a data block or of a block of erased ranges.
template <class Visit>
std::optional<Entries> walk_entries(std::string_view content, const Visit& visit) {
  Entries found;
  std::string key;
  for (;;) {
    std::size_t at = found.end;
    std::uint32_t shared = 0;
    std::uint32_t own = 0;
    std::uint32_t value_bytes = 0;
    if (!take_varint(content, at, shared) || !take_varint(content, at, own)) return std::nullopt;
    if (shared == 0 && own == 0) return found.count > 0 ? std::optional{found} : std::nullopt;
    if (!take_varint(content, at, value_bytes)) return std::nullopt;
    const std::size_t key_bytes = std::size_t{shared} + own;
    if (shared > key.size() || key_bytes <= kSequenceBytes || key_bytes > kKeyBytesMax) return std::nullopt;
    if (std::size_t{own} + value_bytes > content.size() - at) return std::nullopt;
    key.resize(shared);
    key.append(content.substr(at, own));
    const std::size_t user_bytes = key_bytes - kSequenceBytes;
    const std::uint8_t kind = byte_at(key, user_bytes);
    if (kind != kErased && kind != kValue && kind != kErasedOnce && kind != kErasedRange) return std::nullopt;
    Piece piece;
    piece.kind = kind == kValue         ? Piece::Kind::Value
                 : kind == kErasedRange ? Piece::Kind::ErasedRange
                                        : Piece::Kind::Erased;
    piece.sequence = number_at<std::uint64_t>(key, user_bytes) >> 8U;
    piece.key = std::string_view{key}.substr(0, user_bytes);
    piece.value = content.substr(at + own, value_bytes);
    visit(piece);
    ++found.count;
    found.end = at + own + value_bytes;
  }
}

bool is_checksum(std::string_view stored, std::uint8_t compression, std::uint32_t said) {
  constexpr std::uint32_t kForLastByte = 0x6b9083d9;
  const auto sum = static_cast<std::uint32_t>(XXH3_64bits(stored.data(), stored.size()));
  return (sum ^ (compression * kForLastByte)) == said;
}

/// Bytes with the shape of a block.
struct Block {
  std::size_t bytes = 0;  ///< With its trailer; 0: no block.
  bool intact = false;
  std::string_view content;
};

Block with_trailer(std::string_view at, std::size_t content_bytes, std::uint8_t compression) {
  if (content_bytes + kBlockTrailerBytes > at.size()) return {};
  const bool intact =
      byte_at(at, content_bytes) == compression &&
      is_checksum(at.substr(0, content_bytes), compression, number_at<std::uint32_t>(at, content_bytes + 1));
  return {content_bytes + kBlockTrailerBytes, intact, at.substr(0, content_bytes)};
}

Block plain_block(std::string_view at) {
  const std::optional<Entries> entries = walk_entries(at, [](const Piece&) {});
  if (!entries) return {};
  // A restart for every sixteenth entry of a data block, and for each of erased ranges.
  constexpr std::size_t kRestartEvery = 16;
  for (const std::size_t restarts : {(entries->count + kRestartEvery - 1) / kRestartEvery, entries->count}) {
    const std::size_t count_at = entries->end + 4 * restarts;
    if (count_at + 4 <= at.size() && number_at<std::uint32_t>(at, count_at) == restarts)
      return with_trailer(at, count_at + 4, kPlain);
  }
  return {};
}

bool take_length(std::string_view bytes, std::size_t& at, std::size_t& length) {
  if (length != 15) return true;
  std::uint8_t more = 255;
  while (more == 255) {
    if (at >= bytes.size()) return false;
    length += more = byte_at(bytes, at++);
  }
  return true;
}

/// End of a block of LZ4 that begins at `at` and unpacks to `raw_bytes`; 0: there is none.
std::size_t end_of_lz4(std::string_view bytes, std::size_t at, std::size_t raw_bytes) {
  std::size_t made = 0;
  while (at < bytes.size()) {
    const std::uint8_t token = byte_at(bytes, at++);
    std::size_t literals = token >> 4U;
    if (!take_length(bytes, at, literals) || literals > bytes.size() - at || literals > raw_bytes - made) return 0;
    // The first entry of a block shares nothing with one before it: most false candidates fail here.
    if (made == 0 && (literals == 0 || byte_at(bytes, at) != 0)) return 0;
    at += literals;
    made += literals;
    if (made == raw_bytes) return at;
    if (bytes.size() - at < 2) return 0;
    const auto distance = number_at<std::uint16_t>(bytes, at);
    at += 2;
    if (distance == 0 || distance > made) return 0;
    std::size_t repeated = token & 0xfU;
    if (!take_length(bytes, at, repeated)) return 0;
    made += repeated + 4;
    if (made >= raw_bytes) return 0;  // The last bytes are literals.
  }
  return 0;
}

Block lz4_block(std::string_view at, std::string& unpacked) {
  std::size_t begin = 0;
  std::uint32_t raw_bytes = 0;
  if (!take_varint(at, begin, raw_bytes) || raw_bytes <= kSequenceBytes || raw_bytes > kRawBytesMax) return {};
  const std::size_t end = end_of_lz4(at, begin, raw_bytes);
  if (end == 0) return {};
  Block block = with_trailer(at, end, kLz4);
  if (!block.intact) return block;
  unpacked.resize(raw_bytes);
  const int made = LZ4_decompress_safe(at.data() + begin, unpacked.data(), static_cast<int>(end - begin),
                                       static_cast<int>(raw_bytes));
  block.intact = made == static_cast<int>(raw_bytes);
  block.content = unpacked;
  return block;
}

/// A plain block begins with the 0 of an entry that shares nothing, a compressed one with its size.
Block block_at(std::string_view at, std::string& unpacked) {
  return at.front() == '\0' ? plain_block(at) : lz4_block(at, unpacked);
}

// ---- records of logs

constexpr std::size_t kPageBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;
constexpr std::size_t kRecycledHeaderBytes = 11;  // With the number of the log.
constexpr std::size_t kBatchHeaderBytes = 12;

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> sum;
  sum.process_bytes(bytes.data(), bytes.size());
  return sum.checksum();
}

/// The position of a part of a batch in a page.
enum class Part : std::uint8_t { None, Full, First, Middle, Last };

struct LogPart {
  Part part = Part::None;
  std::size_t bytes = 0;  ///< With its header; set also for a damaged part.
  bool intact = false;
  std::string_view content;
};

LogPart part_at(std::string_view page) {
  if (page.size() < kHeaderBytes) return {};
  const std::uint8_t type = byte_at(page, 6);
  const std::size_t header = type > 4 ? kRecycledHeaderBytes : kHeaderBytes;
  const std::size_t length = number_at<std::uint16_t>(page, 4);
  if (type == 0 || type > 8 || header + length > page.size()) return {};
  const std::uint32_t sum = crc32c(page.substr(6, header - 6 + length));
  const std::uint32_t masked = ((sum >> 15U) | (sum << 17U)) + 0xa282ead8U;
  return {static_cast<Part>((type - 1) % 4 + 1), header + length, masked == number_at<std::uint32_t>(page, 0),
          page.substr(header, length)};
}

/// False: the batch has content that this version does not know.
bool read_batch(std::string_view batch, LogRead& read, const PieceVisit& visit) {
  if (batch.size() < kBatchHeaderBytes) return false;
  std::uint64_t sequence = number_at<std::uint64_t>(batch, 0);
  if (read.first_sequence == 0) read.first_sequence = sequence;
  for (std::size_t at = kBatchHeaderBytes; at < batch.size();) {
    const std::uint8_t kind = byte_at(batch, at++);
    Piece piece;
    if (kind == kNothing) continue;
    if (!take_text(batch, at, piece.key)) return false;
    if (kind == kLogData) continue;
    if (kind == kValue || kind == kErasedRange) {
      if (!take_text(batch, at, piece.value)) return false;
    } else if (kind != kErased && kind != kErasedOnce) {
      return false;
    }
    piece.kind = kind == kValue         ? Piece::Kind::Value
                 : kind == kErasedRange ? Piece::Kind::ErasedRange
                                        : Piece::Kind::Erased;
    piece.sequence = read.last_sequence = sequence++;
    visit(piece);
  }
  return true;
}

/// Puts batches together from their parts.
class LogReader {
 public:
  explicit LogReader(const PieceVisit& visit) : visit_(visit) {}

  void take(const LogPart& part) {
    const bool begins = part.part == Part::Full || part.part == Part::First;
    // A part without its other half is cut: the other half was in a lost page.
    if (torn_ || (begins == open_ && !skipping_)) ++read_.gaps;
    torn_ = false;
    if (begins) batch_.clear();
    const bool known = begins || open_;
    skipping_ = !known;
    open_ = known && (part.part == Part::First || part.part == Part::Middle);
    if (!known) return;
    batch_.append(part.content);
    if (!open_ && !read_batch(batch_, read_, visit_)) ++read_.gaps;
  }
  /// A place that cannot be read.
  void miss() {
    torn_ = true;
    open_ = false;
  }
  LogRead finish() {
    read_.torn = torn_ || open_;
    return read_;
  }

 private:
  const PieceVisit& visit_;
  LogRead read_;
  std::string batch_;
  bool open_ = false;      ///< Another part of the batch is to come.
  bool skipping_ = false;  ///< Through the rest of a batch without its beginning.
  bool torn_ = false;      ///< An unreadable place since the last part, not counted yet.
};

}  // namespace

std::uint64_t read_table_pieces(std::string_view file, const PieceVisit& visit) {
  std::uint64_t pieces = 0;
  std::string unpacked;
  for (std::size_t at = 0; at < file.size();) {
    const Block block = block_at(file.substr(at), unpacked);
    if (block.intact) pieces += walk_entries(block.content, visit).value_or(Entries{}).count;
    if (block.intact) {
      at += block.bytes;
      continue;
    }
    // A damaged block mostly keeps its length. Then a user's bytes inside it that look like a block are passed over.
    if (block.bytes > 0 && at + block.bytes < file.size() && block_at(file.substr(at + block.bytes), unpacked).intact)
      at += block.bytes;
    else
      ++at;
  }
  return pieces;
}

namespace {

/// Calls `take` for each intact part, with the offset of its end, and `miss` where there is none.
template <class Take, class Miss>
void walk_log(std::string_view file, const Take& take, const Miss& miss) {
  for (std::size_t at = 0; at < file.size();) {
    const std::string_view page = file.substr(at, kPageBytes - at % kPageBytes);
    if (page.size() < kHeaderBytes) {
      // No header fits into the end of a page. Elsewhere the file was cut in the middle of a header.
      if (at % kPageBytes + page.size() < kPageBytes) miss();
      at += page.size();
      continue;
    }
    const LogPart part = part_at(page);
    if (part.intact) {
      at += part.bytes;
      take(part, at);
      continue;
    }
    miss();
    at += part.bytes > 0 && part_at(page.substr(part.bytes)).intact ? part.bytes : 1;
  }
}

}  // namespace

LogRead read_log_pieces(std::string_view file, const PieceVisit& visit) {
  LogReader reader{visit};
  walk_log(
      file, [&](const LogPart& part, std::size_t) { reader.take(part); }, [&] { reader.miss(); });
  return reader.finish();
}

LogExtent extent_of_log(std::string_view file) {
  LogExtent extent;
  bool missed = false;
  walk_log(
      file,
      [&](const LogPart&, std::size_t end) {
        if (std::exchange(missed, false)) ++extent.gaps;
        extent.end = end;
      },
      [&] { missed = true; });
  return extent;
}

}  // namespace penstock
