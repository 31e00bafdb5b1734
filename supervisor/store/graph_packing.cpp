#include "supervisor/store/graph_packing.hpp"

#include <lz4.h>

#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace penstock::supervisor {
namespace {

/// The columns that follow the first byte, in this order. DO NOT RENUMBER (disk).
struct Column {
  static constexpr unsigned kTemplates = 1;
  static constexpr unsigned kEdges = 2;
  static constexpr unsigned kEdgeOutputs = 4;
  static constexpr unsigned kPriorities = 8;
  static constexpr unsigned kExpected = 16;
  static constexpr unsigned kPayloads = 32;
  static constexpr unsigned kNames = 64;
};

constexpr std::size_t kNumberBytesMax = 5;
constexpr std::size_t kLongNumberBytesMax = 10;
/// LZ4 makes no more than this of a byte, so a length that promises more is none.
constexpr std::uint64_t kExpansionMax = 256;

/// Subtasks of a graph.
struct Part {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// A small difference, in either direction, is a small number; sums wrap around.
constexpr std::uint32_t zigzag(std::uint32_t difference) { return (difference << 1U) ^ (0U - (difference >> 31U)); }
constexpr std::uint32_t unzigzag(std::uint32_t value) { return (value >> 1U) ^ (0U - (value & 1U)); }
constexpr std::uint64_t zigzag(std::uint64_t difference) { return (difference << 1U) ^ (0ULL - (difference >> 63U)); }
constexpr std::uint64_t unzigzag(std::uint64_t value) { return (value >> 1U) ^ (0ULL - (value & 1ULL)); }

// The write position is passed on in a register: a member of a writer would be stored and loaded for each byte, because
// bytes may be written anywhere. REQUIRES, of all: there is room for the written bytes.
template <class Number>
char* put(char* at, Number value) {
  while (value >= 0x80U) {
    *at++ = static_cast<char>(value | 0x80U);
    value >>= 7U;
  }
  *at++ = static_cast<char>(value);
  return at;
}

template <class Number>
char* put_difference(char* at, Number value, Number before) {
  return put(at, zigzag(static_cast<Number>(value - before)));
}

/// Any bytes may come: a misfit is remembered, and reads as zeros.
class Reader {
 public:
  Reader(const char* at, const char* end) : at_(at), end_(end) {}

  template <class Number>
  Number number() {
    Number value = 0;
    for (unsigned shift = 0; shift < sizeof(Number) * 8; shift += 7) {
      if (at_ == end_) break;
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= static_cast<Number>(byte & 0x7fU) << shift;
      if (byte < 0x80U) return value;
    }
    fits_ = false;
    return 0;
  }
  template <class Number>
  Number difference(Number before) {
    return static_cast<Number>(before + unzigzag(number<Number>()));
  }
  std::string_view bytes(std::uint64_t count) {
    if (count > left()) {
      fits_ = false;
      return {};
    }
    at_ += count;
    return {at_ - count, static_cast<std::size_t>(count)};
  }
  std::uint64_t left() const { return static_cast<std::uint64_t>(end_ - at_); }
  bool fits() const { return fits_; }

 private:
  const char* at_;
  const char* const end_;
  bool fits_ = true;
};

template <class Number>
using Unsigned = std::make_unsigned_t<Number>;

template <class Number>
char* put_numbers(char* at, const std::vector<Number>& column, Part part) {
  const Number* const values = column.data() + part.first;
  Unsigned<Number> before = 0;
  for (std::size_t i = 0; i < part.count; ++i) {
    const auto value = static_cast<Unsigned<Number>>(values[i]);
    at = put_difference(at, value, before);
    before = value;
  }
  return at;
}

template <class Number>
void read_numbers(Reader& in, std::vector<Number>& column, std::size_t count) {
  column.resize(count);
  Unsigned<Number> before = 0;
  for (Number& value : column) value = static_cast<Number>(before = in.difference(before));
}

// Most numbers of inputs and lengths of names are those of the subtask before.
char* put_lengths(char* at, const std::vector<std::uint32_t>& column, Part part) {
  const std::uint32_t* const offsets = column.data() + part.first;
  std::uint32_t before = 0;
  std::uint32_t begin = offsets[0];
  for (std::size_t i = 1; i <= part.count; ++i) {
    const std::uint32_t length = offsets[i] - begin;
    begin = offsets[i];
    at = put_difference(at, length, before);
    before = length;
  }
  return at;
}

/// Returns the sum of all.
std::uint64_t read_lengths(Reader& in, std::vector<std::uint32_t>& offsets, std::size_t count) {
  offsets.assign(count + 1, 0);
  std::uint64_t sum = 0;
  std::uint32_t before = 0;
  for (std::size_t i = 1; i <= count; ++i) {
    sum += before = in.difference(before);
    offsets[i] = static_cast<std::uint32_t>(sum);
  }
  return sum;
}

char* put_edges(char* at, const Graph& graph, Part part) {
  const std::uint32_t* const offsets = graph.input_offsets.data();
  const std::uint32_t* const predecessors = graph.predecessors.data();
  const std::uint32_t* before = nullptr;
  std::uint32_t before_count = 0;
  for (std::uint32_t i = part.first; i < part.first + part.count; ++i) {
    const std::uint32_t* const own = predecessors + offsets[i];
    const std::uint32_t own_count = offsets[i + 1] - offsets[i];
    for (std::uint32_t k = 0; k < own_count; ++k) at = put_difference(at, own[k], k < before_count ? before[k] : i);
    before = own;
    before_count = own_count;
  }
  return at;
}

void read_edges(Reader& in, Graph& chunk, std::uint32_t first, std::uint32_t count) {
  chunk.predecessors.resize(chunk.input_offsets.back());
  const std::uint32_t* before = nullptr;
  std::uint32_t before_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t* const own = chunk.predecessors.data() + chunk.input_offsets[i];
    const std::uint32_t own_count = chunk.input_offsets[i + 1] - chunk.input_offsets[i];
    for (std::uint32_t k = 0; k < own_count; ++k) own[k] = in.difference(k < before_count ? before[k] : first + i);
    before = own;
    before_count = own_count;
  }
}

char* put_texts(char* at, const std::vector<std::uint32_t>& offsets, const std::string& texts, Part part) {
  at = put_lengths(at, offsets, part);
  const std::size_t bytes = offsets[part.first + part.count] - offsets[part.first];
  if (bytes > 0) std::memcpy(at, texts.data() + offsets[part.first], bytes);
  return at + bytes;
}

void read_texts(Reader& in, std::vector<std::uint32_t>& offsets, std::string& texts, std::uint32_t count) {
  texts = in.bytes(read_lengths(in, offsets, count));
}

bool all_first(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count; ++i)
    if (graph.template_of[i] != 0) return false;
  return true;
}

unsigned columns_of(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  const bool edges = graph.input_offsets[first] != graph.input_offsets[first + count];
  return (all_first(graph, first, count) ? 0U : Column::kTemplates) | (edges ? Column::kEdges : 0U) |
         (edges && !graph.edge_outputs.empty() ? Column::kEdgeOutputs : 0U) |
         (graph.priorities.empty() ? 0U : Column::kPriorities) | (graph.expected_ns.empty() ? 0U : Column::kExpected) |
         (graph.payload_offsets.empty() ? 0U : Column::kPayloads) | (graph.name_offsets.empty() ? 0U : Column::kNames);
}

/// The most bytes that packing takes, before LZ4.
std::size_t room_for(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  const std::size_t edges = graph.input_offsets[first + count] - graph.input_offsets[first];
  std::size_t bytes =
      1 + std::size_t{count} * (5 * kNumberBytesMax + kLongNumberBytesMax) + edges * 2 * kNumberBytesMax;
  if (!graph.payload_offsets.empty()) bytes += graph.payload_offsets[first + count] - graph.payload_offsets[first];
  if (!graph.name_offsets.empty()) bytes += graph.name_offsets[first + count] - graph.name_offsets[first];
  return bytes;
}

char* put_columns(char* at, const Graph& graph, Part part) {
  const unsigned columns = columns_of(graph, part.first, part.count);
  at = put(at, columns);
  if ((columns & Column::kTemplates) != 0) at = put_numbers(at, graph.template_of, part);
  if ((columns & Column::kEdges) != 0) {
    at = put_lengths(at, graph.input_offsets, part);
    at = put_edges(at, graph, part);
  }
  if ((columns & Column::kEdgeOutputs) != 0) {
    const std::uint32_t last_edge = graph.input_offsets[part.first + part.count];
    for (std::uint32_t edge = graph.input_offsets[part.first]; edge < last_edge; ++edge)
      at = put(at, std::uint32_t{graph.edge_outputs[edge]});
  }
  if ((columns & Column::kPriorities) != 0) at = put_numbers(at, graph.priorities, part);
  if ((columns & Column::kExpected) != 0) at = put_numbers(at, graph.expected_ns, part);
  if ((columns & Column::kPayloads) != 0) at = put_texts(at, graph.payload_offsets, graph.payloads, part);
  if ((columns & Column::kNames) != 0) at = put_texts(at, graph.name_offsets, graph.names, part);
  return at;
}

Error cannot_be_unpacked() { return {ErrorCode::StorageDamaged, "record", "cannot be unpacked", {}}; }

Result<void> read_columns(Reader& in, std::uint32_t first, std::uint32_t count, Graph& chunk) {
  const auto columns = in.number<std::uint32_t>();
  if ((columns & Column::kTemplates) != 0)
    read_numbers(in, chunk.template_of, count);
  else
    chunk.template_of.assign(count, 0);
  chunk.input_offsets.assign(std::size_t{count} + 1, 0);
  if ((columns & Column::kEdges) != 0) {
    // Each number takes a byte at least, so the rest of the input bounds their count.
    if (read_lengths(in, chunk.input_offsets, count) > in.left()) return cannot_be_unpacked();
    read_edges(in, chunk, first, count);
  }
  if ((columns & Column::kEdgeOutputs) != 0) {
    chunk.edge_outputs.resize(chunk.predecessors.size());
    for (std::uint16_t& output : chunk.edge_outputs) output = static_cast<std::uint16_t>(in.number<std::uint32_t>());
  }
  if ((columns & Column::kPriorities) != 0) read_numbers(in, chunk.priorities, count);
  if ((columns & Column::kExpected) != 0) read_numbers(in, chunk.expected_ns, count);
  if ((columns & Column::kPayloads) != 0) read_texts(in, chunk.payload_offsets, chunk.payloads, count);
  if ((columns & Column::kNames) != 0) read_texts(in, chunk.name_offsets, chunk.names, count);
  if (!in.fits() || in.left() != 0) return cannot_be_unpacked();
  return {};
}

}  // namespace

char* GraphPacker::Room::of(std::size_t wanted) {
  if (size < wanted) {
    memory = std::make_unique_for_overwrite<char[]>(wanted);
    size = wanted;
  }
  return memory.get();
}

GraphPacker::Packed GraphPacker::pack(const Graph& graph, std::uint32_t first, std::uint32_t count) {
  char* const raw = raw_.of(room_for(graph, first, count));
  const auto raw_bytes = static_cast<std::size_t>(put_columns(raw, graph, {first, count}) - raw);
  // A single subtask with texts larger than LZ4's limit is stored as it is.
  if (raw_bytes > LZ4_MAX_INPUT_SIZE) return {{raw, raw_bytes}, raw_bytes};
  const auto bound = static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(raw_bytes)));
  char* const packed = packed_.of(bound);
  const int bytes = LZ4_compress_default(raw, packed, static_cast<int>(raw_bytes), static_cast<int>(bound));
  if (bytes <= 0 || static_cast<std::size_t>(bytes) >= raw_bytes) return {{raw, raw_bytes}, raw_bytes};
  return {{packed, static_cast<std::size_t>(bytes)}, raw_bytes};
}

Result<void> unpack_columns(const GraphPacker::Packed& packed, std::uint32_t first, std::uint32_t count, Graph& chunk) {
  std::string_view raw = packed.bytes;
  std::unique_ptr<char[]> memory;
  if (packed.raw_bytes != packed.bytes.size()) {
    const bool possible = packed.raw_bytes <= packed.bytes.size() * kExpansionMax &&
                          packed.raw_bytes <= LZ4_MAX_INPUT_SIZE && packed.bytes.size() <= LZ4_MAX_INPUT_SIZE;
    if (!possible) return cannot_be_unpacked();
    memory = std::make_unique_for_overwrite<char[]>(packed.raw_bytes);
    const int bytes = LZ4_decompress_safe(packed.bytes.data(), memory.get(), static_cast<int>(packed.bytes.size()),
                                          static_cast<int>(packed.raw_bytes));
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) != packed.raw_bytes) return cannot_be_unpacked();
    raw = {memory.get(), static_cast<std::size_t>(packed.raw_bytes)};
  }
  Reader in{raw.data(), raw.data() + raw.size()};
  return read_columns(in, first, count, chunk);
}

}  // namespace penstock::supervisor
