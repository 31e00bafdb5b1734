// CUDA's driver of a host with two devices, the memory of which is the process's own, for tests of what uses it. Its
// names are NVIDIA's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {

/// Called before each copy from a device, by its maker; null: nothing. For the tests.
void (*fake_cuda_before_reading)() = nullptr;

static thread_local void* current_context = nullptr;
static int contexts[2];
constexpr std::size_t kFakeMemory = std::size_t{1} << 30U;

int cuInit(unsigned) { return 0; }
int cuGetErrorString(int status, const char** words) {
  *words = status == 2 ? "out of memory" : "invalid context";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  // As in fake_nvml.cpp.
  static const unsigned char middle[] = {0xaa, 0xaa, 0xbb, 0xbb, 0xcc, 0xcc, 0, 0, 0, 0, 0};
  std::memset(uuid, device == 0 ? 0x11 : 0x22, 4);
  std::memcpy(uuid + 4, middle, sizeof middle);
  uuid[15] = static_cast<unsigned char>(device + 1);
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void* context) {
  current_context = context;
  return 0;
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (current_context == nullptr) return 201;
  if (bytes > kFakeMemory) return 2;
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  if (current_context == nullptr) return 201;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuStreamSynchronize(void*) { return current_context == nullptr ? 201 : 0; }
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  if (fake_cuda_before_reading != nullptr) fake_cuda_before_reading();
  if (current_context == nullptr) return 201;
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return 0;
}

}  // extern "C"
