// Native operators that end their process, each in its own way, and one that never ends.
#include <poll.h>
#include <tbb/parallel_for.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "client/include/penstock/operator.h"

namespace {

volatile int sink = 0;

void write_nowhere() { *reinterpret_cast<volatile int*>(std::uintptr_t{16} + static_cast<std::uintptr_t>(sink)) = 1; }

/// Crashes while its attempt is at most the number that is its payload; without one, always.
bool is_to_crash(const penstock_call* call) {
  const penstock_view& from = call->payload.bytes > 0 ? call->payload : call->template_payload;
  char text[8] = {};
  if (from.data != nullptr) std::memcpy(text, from.data, from.bytes < 7 ? from.bytes : 7);
  return text[0] == 0 || call->attempt <= static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

int segfault(penstock_call* call) {
  if (is_to_crash(call)) write_nowhere();
  return 0;
}

int abort_all(penstock_call* call) {
  if (is_to_crash(call)) std::abort();
  return 0;
}

// NOLINTNEXTLINE(misc-no-recursion): that is what it is for.
int deeper(int depth) {
  volatile char page[4096];
  page[depth % 4096] = static_cast<char>(depth);
  return depth < 0 ? 0 : deeper(depth + 1) + page[0];
}

int overflow(penstock_call* call) { return is_to_crash(call) ? deeper(0) : 0; }

/// On whichever thread of its arena gets there first.
int wide(penstock_call* call) {
  if (is_to_crash(call))
    tbb::parallel_for(0, 1000, [](int i) {
      if (i == 500) write_nowhere();
    });
  return 0;
}

/// Does not ask whether it is to stop.
int hang(penstock_call* call) {
  while (is_to_crash(call)) ::poll(nullptr, 0, -1);
  return 0;
}

constexpr penstock_operator kOperators[] = {
    {"segfault", segfault}, {"abort", abort_all}, {"overflow", overflow}, {"wide", wide}, {"hang", hang}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 5, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators() { return &kTable; }
