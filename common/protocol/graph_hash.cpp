#include "common/protocol/graph_hash.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "common/protocol/graph.hpp"

namespace penstock {
namespace {

// The constants and the step of xxHash's 64-bit variant (Collet, BSD licence), with four lanes that end in two words.
constexpr std::uint64_t kPrime1 = 0x9e3779b185ebca87ULL;
constexpr std::uint64_t kPrime2 = 0xc2b2ae3d27d4eb4fULL;
constexpr std::uint64_t kPrime3 = 0x165667b19e3779f9ULL;

class ContentHash {
 public:
  // The length goes first: two texts in a row differ from one joined text.
  void add(const void* bytes, std::size_t count) {
    add_block({count, kPrime3, 0, 0});
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (; count >= sizeof(Block); at += sizeof(Block), count -= sizeof(Block)) {
      Block block;
      std::memcpy(&block, at, sizeof(Block));
      add_block(block);
    }
    if (count == 0) return;
    Block last{};
    std::memcpy(&last, at, count);
    add_block(last);
  }
  void add(std::string_view text) { add(text.data(), text.size()); }
  template <class Number>
  void add(const std::vector<Number>& column) {
    add(column.data(), column.size() * sizeof(Number));
  }
  void add(const std::vector<std::string>& texts) {
    add_number(texts.size());
    for (const std::string& text : texts) add(text);
  }
  void add_number(std::uint64_t number) { add_block({number, kPrime1, 0, 0}); }

  GraphHash end() const {
    const std::uint64_t low = mix_bits(lanes_.words[0] + std::rotl(lanes_.words[1], 7)) +
                              mix_bits(lanes_.words[2] + std::rotl(lanes_.words[3], 18));
    const std::uint64_t high = mix_bits(lanes_.words[3] + std::rotl(lanes_.words[0], 12)) ^
                               mix_bits(lanes_.words[1] + std::rotl(lanes_.words[2], 29) + kPrime2);
    return {mix_bits(low ^ high) | 1U, mix_bits(high + low * kPrime1)};
  }

 private:
  struct Block {
    std::uint64_t words[4];
  };

  void add_block(const Block& block) {
    for (std::size_t i = 0; i < 4; ++i)
      lanes_.words[i] = std::rotl(lanes_.words[i] + block.words[i] * kPrime2, 31) * kPrime1;
  }

  Block lanes_{{kPrime1 + kPrime2, kPrime2, kPrime3, 0 - kPrime1}};
};

// Each binding below names every field: a new field of the struct does not compile before it is added here.
void add(ContentHash& hash, const ResourceVector& amounts) {
  const auto& [slots, cpu, gpu, memory, device_memory, named] = amounts;
  for (const std::int64_t amount : {slots.value(), cpu.value(), gpu.value(), memory.value(), device_memory.value()})
    hash.add_number(static_cast<std::uint64_t>(amount));
  hash.add_number(named.size());
  for (const auto& [name, amount] : named) {
    hash.add(name);
    hash.add_number(static_cast<std::uint64_t>(amount));
  }
}

void add(ContentHash& hash, const BandSelector& selector) {
  const auto& [worker, band] = selector;
  hash.add(worker);
  hash.add(band);
}

void add(ContentHash& hash, const Template& entry) {
  const auto& [name, runner, program, arguments, environment, working_directory, standard_input, payload, request,
               required, preferred, priority, attempts_max, retryable, on_failure, time_limit, kill_grace,
               expected_duration, output_count, replicas, checkpoint, output_limit_bytes, memory_max, overlap, user] =
      entry;
  for (const std::string* text : {&name, &program, &working_directory, &standard_input, &payload}) hash.add(*text);
  if (user.any()) hash.add(*user);  // A graph as its client has sent it has none, and keeps the hash that it had.
  hash.add(arguments);
  hash.add(environment);
  add(hash, request);
  add(hash, required);
  add(hash, preferred);
  for (const std::int64_t number :
       {static_cast<std::int64_t>(runner), std::int64_t{priority}, std::int64_t{attempts_max}, std::int64_t{retryable},
        static_cast<std::int64_t>(on_failure), std::int64_t{time_limit.count()}, std::int64_t{kill_grace.count()},
        std::int64_t{expected_duration.count()}, std::int64_t{output_count}, std::int64_t{replicas},
        std::int64_t{checkpoint}, output_limit_bytes, memory_max.value(), static_cast<std::int64_t>(overlap)})
    hash.add_number(static_cast<std::uint64_t>(number));
}

template <class Column>
void add_unless_zero(ContentHash& hash, const Column& column) {
  const bool says_something = std::any_of(column.begin(), column.end(), [](auto value) { return value != 0; });
  hash.add(says_something ? column : Column{});
}

}  // namespace

GraphHash content_hash(const Graph& graph) {
  const auto& [templates, template_of, input_offsets, predecessors, edge_outputs, priorities, expected_ns,
               payload_offsets, payloads, name_offsets, names, wanted] = graph;
  ContentHash hash;
  hash.add_number(templates.size());
  for (const Template& entry : templates) add(hash, entry);
  hash.add(template_of);
  hash.add(input_offsets);
  hash.add(predecessors);
  add_unless_zero(hash, edge_outputs);
  add_unless_zero(hash, priorities);
  add_unless_zero(hash, expected_ns);
  add_unless_zero(hash, payload_offsets);
  hash.add(payloads);
  add_unless_zero(hash, name_offsets);
  hash.add(names);
  hash.add(wanted);
  return hash.end();
}

GraphHash content_hash(const JobSpec& spec, const GraphHash& graph) {
  ContentHash hash;
  const JobPolicy& policy = spec.policy;
  for (const std::uint64_t number :
       {graph.low, graph.high, static_cast<std::uint64_t>(spec.keep),
        static_cast<std::uint64_t>(spec.time_limit.count()), std::uint64_t{policy.gang}, std::uint64_t{policy.gang_max},
        std::uint64_t{policy.gang_groups}, std::uint64_t{spec.secrets->size()}})
    hash.add_number(number);
  hash.add(policy.together);
  hash.add(policy.pools);
  hash.add(policy.labels);
  for (const Secret& secret : *spec.secrets) hash.add(secret.name);
  return hash.end();
}

std::string to_short_string(const GraphHash& hash) { return to_string(hash).substr(0, 8); }

std::string to_string(const GraphHash& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t word : {hash.high, hash.low})
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(word >> static_cast<unsigned>(shift)) & 15U];
  return text;
}

}  // namespace penstock
