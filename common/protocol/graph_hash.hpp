// The hashes that name graphs and jobs by their content.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace penstock {

struct Graph;
struct JobSpec;

/// A hash of 128 bits: two different graphs share one only by a chance of 2^-128. Not cryptographic: a user can build
/// two graphs that collide, but the right to submit graphs includes the right to run programs anyway.
struct GraphHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  /// All zero: none.
  bool valid() const { return low != 0 || high != 0; }
  friend auto operator<=>(const GraphHash&, const GraphHash&) = default;
};

/// The hash of all content of a graph. An empty column counts like one that is left out, so that a graph has the same
/// hash before it is cut into chunks and after it is put together. Always valid. Cost: about 0.2 ns for each byte.
GraphHash content_hash(const Graph& graph);

/// The hash of all that decides the work of a job with that graph: what it runs, where it may run, what it keeps, and
/// its time limit. Names, owners and the wishes to policy that an order may change are no part of it, nor are the
/// values of secrets. Always valid.
GraphHash content_hash(const JobSpec& spec, const GraphHash& graph);

/// 32 hexadecimal digits.
std::string to_string(const GraphHash& hash);
/// The first 8 digits, by which people tell two apart.
std::string to_short_string(const GraphHash& hash);

/// The hash of the hash, for tables.
constexpr std::uint64_t hash_of(const GraphHash& hash) { return hash.low; }

}  // namespace penstock
