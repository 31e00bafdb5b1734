// Strong identities. Every numbered thing has a type of its own, so that two kinds cannot be mixed up.
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

namespace penstock {

/// A number that names one thing of one kind. There is no arithmetic and no implicit conversion: code that has to count
/// uses `value()`. The largest value is reserved and means "none".
template <class Tag, class Rep>
class Id {
 public:
  using Representation = Rep;

  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(value) {}

  static constexpr Id none() { return Id{}; }
  constexpr bool valid() const { return value_ != std::numeric_limits<Rep>::max(); }
  constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = std::numeric_limits<Rep>::max();
};

/// One submitted graph. Unique during the lifetime of a state directory.
using JobId = Id<struct JobTag, std::uint32_t>;
/// Position of a subtask in its job's graph, dense from 0.
using SubtaskIndex = Id<struct SubtaskTag, std::uint32_t>;
/// Position of a template in its job's graph, dense from 0.
using TemplateIndex = Id<struct TemplateTag, std::uint32_t>;
/// A worker at the supervisor: a new number for each registration of a new incarnation.
using WorkerId = Id<struct WorkerTag, std::uint32_t>;
/// Position of a band on its worker.
using BandIndex = Id<struct BandTag, std::uint16_t>;
/// Position of a slot on its band.
using SlotIndex = Id<struct SlotTag, std::uint16_t>;
/// A client at the supervisor, for as long as its lease lasts.
using ClientId = Id<struct ClientTag, std::uint32_t>;
/// One life of a process, drawn at random when it starts. Never reused.
using Incarnation = Id<struct IncarnationTag, std::uint64_t>;
/// One try of a subtask. The high half is the term of the supervisor's state less one, the low half counts from 1 in
/// each term: attempts of a fresh state are 1, 2, 3; those of a later term are larger than all before, so a number
/// never names a second execution. 0: none yet. A report of an older attempt is stale.
using Attempt = Id<struct AttemptTag, std::uint64_t>;
/// The number before the first attempt of a term, which is counted from 1.
constexpr Attempt attempts_begin(std::uint64_t term) { return Attempt{(term - (term > 0 ? 1 : 0)) << 32U}; }

/// A job among all jobs that any supervisor has ever accepted: drawn at random, never guessed and never repeated. A
/// `JobId` is its name for people, and may name another job in a state that was restored.
struct JobIdentity {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  constexpr bool valid() const { return (high | low) != 0; }
  friend constexpr auto operator<=>(const JobIdentity&, const JobIdentity&) = default;
};
/// Whether these are known to be two jobs; an older peer sends no identity.
constexpr bool differ(const JobIdentity& one, const JobIdentity& other) {
  return one.valid() && other.valid() && one != other;
}

/// A subtask anywhere in the cluster.
struct SubtaskId {
  JobId job;
  SubtaskIndex index;
  friend constexpr auto operator<=>(const SubtaskId&, const SubtaskId&) = default;
};

/// A band anywhere in the cluster.
struct BandId {
  WorkerId worker;
  BandIndex band;
  friend constexpr auto operator<=>(const BandId&, const BandId&) = default;
};

/// One datum: output number `output` of subtask `producer`.
struct DataKey {
  SubtaskId producer;
  std::uint16_t output = 0;
  friend constexpr auto operator<=>(const DataKey&, const DataKey&) = default;
};

/// `job-17`, `17:42`, `w3`, `w3/1`, `17:42.0`: the one printed form of each identity.
std::string to_string(JobId id);
std::string to_string(SubtaskId id);
std::string to_string(WorkerId id);
std::string to_string(BandId id);
std::string to_string(const DataKey& key);
/// `2`, or `3.2` in the third term.
std::string to_string(Attempt attempt);
/// `17:42#2`
std::string to_string(SubtaskId id, Attempt attempt);
/// 32 hexadecimal digits.
std::string to_string(const JobIdentity& identity);
/// Parses the digits; none if the text is anything else.
JobIdentity parse_identity(std::string_view text);

/// A well-mixed 64-bit hash of an integer (the finaliser of MurmurHash3, public domain). The same on every machine.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33U;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33U;
  return x;
}

constexpr std::uint64_t hash_of(SubtaskId id) {
  return mix_bits((std::uint64_t{id.job.value()} << 32U) | id.index.value());
}
constexpr std::uint64_t hash_of(const DataKey& key) {
  return mix_bits(hash_of(key.producer) + key.output);
}
template <class Tag, class Rep>
constexpr std::uint64_t hash_of(Id<Tag, Rep> id) {
  return mix_bits(id.value());
}

}  // namespace penstock
