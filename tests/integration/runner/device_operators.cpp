// Operators that leave their outputs on the device of their band. For tests: through the driver that their worker has
// loaded, that of the tests or NVIDIA's.
#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "client/include/penstock/operator.h"

namespace {

template <class Function>
Function driver(const char* symbol) {
  static void* const fake = dlopen(PENSTOCK_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
  static void* const library = fake != nullptr ? fake : dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, symbol));
}
bool write(std::uint64_t to, const std::string& text) {
  const auto copy = driver<int (*)(unsigned long long, const void*, std::size_t)>("cuMemcpyHtoD_v2");
  return copy != nullptr && copy(to, text.data(), text.size()) == 0;
}
bool read(std::string& text, std::uint64_t from) {
  const auto copy = driver<int (*)(void*, unsigned long long, std::size_t)>("cuMemcpyDtoH_v2");
  return copy != nullptr && copy(text.data(), from, text.size()) == 0;
}

int give(penstock_call* call, const std::string& text) {
  void* const out = call->output(call, 0, text.size());
  if (out == nullptr) return 1;
  std::memcpy(out, text.data(), text.size());
  return 0;
}

/// Its payload, on the device.
int device_literal(penstock_call* call) {
  const std::string text{static_cast<const char*>(call->payload.data), static_cast<std::size_t>(call->payload.bytes)};
  const std::uint64_t out = call->device_output(call, 0, text.size());
  return out != 0 && write(out, text) ? 0 : 1;
}

/// Its inputs one behind the other, from the device to the device.
int device_concatenate(penstock_call* call) {
  std::string all;
  for (std::uint64_t i = 0; i < call->input_count; ++i) {
    std::string text(call->inputs[i].bytes, '?');
    const std::uint64_t in = call->device_input(call, i);
    if (in == 0 || !read(text, in)) return 1;
    all += text;
  }
  const std::uint64_t out = call->device_output(call, 0, all.size());
  return out != 0 && write(out, all) ? 0 : 1;
}

/// The bytes of its inputs on the host, and before each where it was.
int device_tell(penstock_call* call) {
  std::string all;
  for (std::uint64_t i = 0; i < call->input_count; ++i) {
    all += call->inputs[i].data == nullptr ? "device:" : "host:";
    const void* const bytes = call->host_input(call, i);
    if (bytes == nullptr) return 1;
    all.append(static_cast<const char*>(bytes), call->inputs[i].bytes);
  }
  return give(call, all);
}

constexpr penstock_operator kOperators[] = {
    {"device_literal", device_literal}, {"device_concatenate", device_concatenate}, {"device_tell", device_tell}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 3, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators(void) { return &kTable; }
extern "C" uint32_t penstock_operator_wishes(void) { return PENSTOCK_ON_DEVICES; }
