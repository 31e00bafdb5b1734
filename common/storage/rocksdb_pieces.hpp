// Reads single files of RocksDB piece by piece, without the lists and indexes around them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace penstock {

/// One change of one key, or of a range of keys. Of several changes the one with the highest sequence is in force; a
/// merge may have removed the number of a change, which is then the oldest.
struct Piece {
  enum class Kind : std::uint8_t { Value, Erased, ErasedRange };
  Kind kind = Kind::Value;
  std::uint64_t sequence = 0;
  std::string_view key;    ///< Of a range: its first key.
  std::string_view value;  ///< Of a range: the first key after it.
};
/// The piece is valid during the call.
using PieceVisit = std::function<void(const Piece& piece)>;

/// Visits every piece of a sorted file with an intact block; returns their number. Each block has a length that follows
/// from its content, and a checksum, so the walk needs neither the index nor the end of the file, and a damaged or
/// missing block costs only its own pieces. Reads files with our options: block-based, format 2 to 5, LZ4 or plain,
/// XXH3.
std::uint64_t read_table_pieces(std::string_view file, const PieceVisit& visit);

struct LogRead {
  std::uint64_t gaps = 0;            ///< Unreadable places before readable ones.
  bool torn = false;                 ///< The end cannot be read: a crash always leaves the newest log so.
  std::uint64_t first_sequence = 0;  ///< 0: there is none.
  std::uint64_t last_sequence = 0;
};
/// Visits every piece of a write-ahead log, in the order of writing. A damaged batch costs only its own pieces.
LogRead read_log_pieces(std::string_view file, const PieceVisit& visit);

struct LogExtent {
  std::uint64_t gaps = 0;  ///< Unreadable places before readable ones.
  std::uint64_t end = 0;   ///< End of the last intact part.
};
/// How much of a log, or of a list of files (MANIFEST), which has the same format, is intact. RocksDB silently skips
/// the rest of a page that begins with zeros.
LogExtent extent_of_log(std::string_view file);

}  // namespace penstock
