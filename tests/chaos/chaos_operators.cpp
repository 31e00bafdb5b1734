// Native operators for the chaos suite: what they make depends on every byte that they read.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "client/include/penstock/operator.h"

namespace {

/// Of `digest`, as `chaos_client workflow` writes it.
struct Order {
  std::uint64_t burn_ns = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t subtask = 0;
};

std::uint64_t mix(std::uint64_t hash, const void* data, std::uint64_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3ULL;
    hash ^= hash >> 29U;
  };
  add(bytes);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    add(word);
  }
  for (; bytes > 0; --bytes) add(*at++);
  return hash;
}

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);  // tidy: allow call: an operator is not ours, it has no clock handed in
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

/// One line for each attempt that has got to its end: subtask, digest of all that it has read.
int tell(const Order& order, std::uint64_t hash) {
  const char* path = std::getenv("CHAOS_DIGESTS");  // tidy: allow call: a worker hands its operators no settings
  if (path == nullptr) return 0;
  char line[64];
  const int bytes = std::snprintf(line, sizeof line, "%llu %016llx\n", static_cast<unsigned long long>(order.subtask),
                                  static_cast<unsigned long long>(hash));
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return 1;
  const bool whole = write(file, line, static_cast<std::size_t>(bytes)) == bytes;
  return close(file) == 0 && whole ? 0 : 1;
}

/// Computes as long as `burn`, and makes as many bytes, all of them out of the digest of what it has read.
int digest(penstock_call* call) {
  const std::uint64_t begin = now_ns();
  Order order;
  if (call->payload.bytes != sizeof order) return call->fail(call, "the payload of `digest` is three numbers");
  std::memcpy(&order, call->payload.data, sizeof order);
  std::uint64_t hash = mix(0xcbf29ce484222325ULL, &order.subtask, sizeof order.subtask);
  for (std::uint64_t i = 0; i < call->input_count; ++i) hash = mix(hash, call->inputs[i].data, call->inputs[i].bytes);
  const std::uint64_t bytes = std::max<std::uint64_t>(order.output_bytes, sizeof hash);
  auto* out = static_cast<unsigned char*>(call->output(call, 0, bytes));
  if (out == nullptr) return call->fail(call, "there is no memory for the output");
  for (std::uint64_t at = 0; at < bytes; at += sizeof hash)
    std::memcpy(out + at, &hash, std::min<std::uint64_t>(sizeof hash, bytes - at));
  while (now_ns() - begin < order.burn_ns && call->cancelled(call) == 0) {
  }
  return tell(order, hash) == 0 ? 0 : call->fail(call, "the digest could not be told");
}

constexpr penstock_operator kOperators[] = {{"digest", digest}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 1, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators() { return &kTable; }
