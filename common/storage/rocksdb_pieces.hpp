// What RocksDB has written into single files, read piece by piece without the lists and indexes around it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace penstock {

/// One change of one key, or of a range of them. Of several the one with the highest sequence is in force; what was
/// merged down may have lost its number, and then is the oldest there is.
struct Piece {
  enum class Kind : std::uint8_t { Value, Erased, ErasedRange };
  Kind kind = Kind::Value;
  std::uint64_t sequence = 0;
  std::string_view key;    ///< Of a range: its first.
  std::string_view value;  ///< Of a range: the first key behind it.
};
/// The piece is valid during the call.
using PieceVisit = std::function<void(const Piece& piece)>;

/// Every piece of a sorted file whose block is intact; says how many. The bytes are taken as they stand: each block has
/// a length that follows from what is in it, and a checksum, so neither the index nor the end of the file is needed,
/// and a damaged or missing block costs nothing but itself. Reads what our options write: block-based, format 2 to 5,
/// LZ4 or nothing, XXH3.
std::uint64_t read_table_pieces(std::string_view file, const PieceVisit& visit);

struct LogRead {
  std::uint64_t gaps = 0;            ///< Places that cannot be read, with something behind them that can.
  bool torn = false;                 ///< Its end cannot be read: to the newest log every crash does that.
  std::uint64_t first_sequence = 0;  ///< 0: there is none.
  std::uint64_t last_sequence = 0;
};
/// Every piece of a write-ahead log, in the order in which it was written. A damaged batch costs nothing but itself.
LogRead read_log_pieces(std::string_view file, const PieceVisit& visit);

struct LogExtent {
  std::uint64_t gaps = 0;  ///< Places that cannot be read, with something behind them that can.
  std::uint64_t end = 0;   ///< Behind the last part that is intact.
};
/// How much of a log, or of a list of files (MANIFEST), which has the same format, is intact. RocksDB passes over the rest of
/// a page that begins with zeros without a word.
LogExtent extent_of_log(std::string_view file);

}  // namespace penstock
