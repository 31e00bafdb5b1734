// The operators that every worker has: for benchmarks, replays and tests.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>

#include "common/host/clock.hpp"
#include "worker/runner/native/operator_registry.hpp"

namespace penstock::worker {
namespace {

// Payload of `noop` and `burn`: two little-endian 64-bit numbers, nanoseconds to compute and bytes to make. A missing
// number is 0. The subtask's payload goes before the template's.
struct Work {
  std::uint64_t burn_ns = 0;
  std::uint64_t output_bytes = 0;
};

Work work_of(const penstock_call* call) {
  Work work;
  const penstock_view& from = call->payload.bytes > 0 ? call->payload : call->template_payload;
  if (from.data != nullptr) std::memcpy(&work, from.data, std::min<std::uint64_t>(from.bytes, sizeof work));
  return work;
}

int make_output(penstock_call* call, std::uint64_t bytes) {
  if (bytes == 0) return 0;
  auto* output = static_cast<unsigned char*>(call->output(call, 0, bytes));
  if (output == nullptr) return call->fail(call, "there is no memory for the output");
  // Every page is touched, as a real result would; the first byte tells readers that it is whole.
  for (std::uint64_t at = 0; at < bytes; at += 4096) output[at] = 1;
  output[bytes - 1] = 1;
  return 0;
}

int noop(penstock_call* call) { return make_output(call, work_of(call).output_bytes); }

// Computes until the time has passed; checks now and then whether the subtask is still wanted. Making the output is
// part of the work, and counts as such.
int burn(penstock_call* call) {
  const Instant begin = monotonic_now();
  const Work work = work_of(call);
  if (const int failed = make_output(call, work.output_bytes); failed != 0) return failed;
  const Instant end =
      later(begin, Duration{static_cast<std::int64_t>(std::min<std::uint64_t>(work.burn_ns, INT64_MAX))});
  // Where slots outnumber processors, each yields its processor so that the others see the clock, too; otherwise each
  // would miss its end by a time slice of the kernel.
  for (std::uint32_t round = 1; monotonic_now() < end; ++round) {
    if (round % 1024 != 0) continue;
    if (call->cancelled(call) != 0) return 0;
    std::this_thread::yield();
  }
  return 0;
}

// Fails with its payload as message; if that begins with a number and a colon, only attempts up to that number fail.
int fail_operator(penstock_call* call) {
  const penstock_view& from = call->payload.bytes > 0 ? call->payload : call->template_payload;
  std::string message =
      from.data == nullptr ? "failed as asked" : std::string{static_cast<const char*>(from.data), from.bytes};
  if (const std::size_t colon = message.find(':'); colon != std::string::npos && colon > 0 && colon < 6) {
    std::uint32_t attempts = 0;
    bool number = true;
    for (const char c : message.substr(0, colon)) {
      number = number && c >= '0' && c <= '9';
      attempts = attempts * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (number && call->attempt > attempts) return 0;
    if (number) message = message.substr(colon + 1);
  }
  return call->fail(call, message.c_str());
}

// Copies its payload to its output: data of the engine as an input of others.
int literal(penstock_call* call) {
  void* out = call->output(call, 0, call->payload.bytes);
  if (out == nullptr) return call->fail(call, "there is no memory for the output");
  if (call->payload.bytes > 0) std::memcpy(out, call->payload.data, call->payload.bytes);
  return 0;
}

// Joins its inputs: for a datum that is larger than the payload of one subtask may be.
int concatenate(penstock_call* call) {
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < call->input_count; ++i) bytes += call->inputs[i].bytes;
  auto* out = static_cast<unsigned char*>(call->output(call, 0, bytes));
  if (out == nullptr) return call->fail(call, "there is no memory for the output");
  for (std::uint64_t i = 0; i < call->input_count; ++i) {
    const penstock_view& input = call->inputs[i];
    if (input.bytes > 0) std::memcpy(out, input.data, input.bytes);
    out += input.bytes;
  }
  return 0;
}

constexpr penstock_operator kOperators[] = {{"noop", noop},
                                            {"burn", burn},
                                            {"fail", fail_operator},
                                            {"literal", literal},
                                            {"alias", alias_operator},
                                            {"pass", pass_operator},
                                            {"concatenate", concatenate}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, std::size(kOperators), kOperators};

}  // namespace

// The lane does the work of both (native_lanes.cpp): operators do not see the store.
int alias_operator(penstock_call* call) { return call->fail(call, "an alias is made by the lane"); }
int pass_operator(penstock_call* call) { return call->fail(call, "what is passed on is known to the lane"); }

const penstock_operator_table& builtin_operators() { return kTable; }

}  // namespace penstock::worker
