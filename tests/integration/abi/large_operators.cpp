// Native operators for a large datum: one makes it, the others add up its bytes.
#include <cstring>
#include <memory>
#include <new>

#include "client/include/penstock/operator.h"

namespace {

int make(penstock_call* call) {
  std::uint64_t bytes = 0;
  if (call->payload.bytes != sizeof bytes) return call->fail(call, "the payload is a size");
  std::memcpy(&bytes, call->payload.data, sizeof bytes);
  void* out = call->output(call, 0, bytes);
  if (out == nullptr) return call->fail(call, "there is no memory");
  std::memset(out, 1, bytes);
  return 0;
}

int write_sum(penstock_call* call, const unsigned char* data, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < bytes; ++i) sum += data[i];
  void* out = call->output(call, 0, sizeof sum);
  if (out == nullptr) return call->fail(call, "there is no memory");
  std::memcpy(out, &sum, sizeof sum);
  return 0;
}

int sum(penstock_call* call) {
  return write_sum(call, static_cast<const unsigned char*>(call->inputs[0].data), call->inputs[0].bytes);
}

// Copies the input first, as a runtime without shared memory would do.
int sum_of_copy(penstock_call* call) {
  const std::uint64_t bytes = call->inputs[0].bytes;
  const std::unique_ptr<unsigned char[]> copy{new (std::nothrow) unsigned char[bytes]};
  if (copy == nullptr) return call->fail(call, "there is no memory");
  std::memcpy(copy.get(), call->inputs[0].data, bytes);
  return write_sum(call, copy.get(), bytes);
}

constexpr penstock_operator kOperators[] = {{"make", make}, {"sum", sum}, {"sum_of_copy", sum_of_copy}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 3, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators() { return &kTable; }
