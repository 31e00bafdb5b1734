// DeviceMemory by CUDA's driver. Compiled only where CMake has found its headers; nobody of this project has run it
// yet.
#include <cuda.h>

#include <array>
#include <cstdio>

#include "worker/store/device_memory.hpp"

namespace penstock::worker {
namespace {

Error failure_of(CUresult result, const std::string& subject, const char* what) {
  const char* words = nullptr;
  if (cuGetErrorString(result, &words) != CUDA_SUCCESS || words == nullptr) words = "unknown error";
  const bool full = result == CUDA_ERROR_OUT_OF_MEMORY;
  return Error{
      full ? ErrorCode::ResourceExhausted : ErrorCode::Internal, subject, std::string{what} + ": " + words, {}};
}

/// As NVML and `nvidia-smi -L` write it: GPU-01234567-89ab-cdef-0123-456789abcdef.
std::string text_of(const CUuuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    text += digits.data();
  }
  return text;
}

class CudaMemory : public DeviceMemory {
 public:
  CudaMemory(CUdevice device, CUcontext context, std::string name)
      : device_(device), context_(context), name_(std::move(name)) {}
  ~CudaMemory() override { cuDevicePrimaryCtxRelease(device_); }

  Result<std::uint64_t> allocate(std::size_t bytes) override {
    CUdeviceptr address = 0;
    if (Result<void> here = enter(); !here) return here.error();
    if (const CUresult result = cuMemAlloc(&address, bytes); result != CUDA_SUCCESS)
      return failure_of(result, name_, "gives no memory");
    return static_cast<std::uint64_t>(address);
  }
  void free(std::uint64_t address) override {
    if (enter()) cuMemFree(static_cast<CUdeviceptr>(address));
  }
  Result<void> write(std::uint64_t address, std::span<const std::byte> from) override {
    PENSTOCK_TRY(enter());
    const CUresult result = cuMemcpyHtoD(static_cast<CUdeviceptr>(address), from.data(), from.size());
    if (result != CUDA_SUCCESS) return failure_of(result, name_, "cannot be written");
    return {};
  }
  Result<void> read(std::uint64_t address, std::span<std::byte> to) override {
    PENSTOCK_TRY(enter());
    const CUresult result = cuMemcpyDtoH(to.data(), static_cast<CUdeviceptr>(address), to.size());
    if (result != CUDA_SUCCESS) return failure_of(result, name_, "cannot be read");
    return {};
  }

 private:
  // A context is that of a thread, and any thread may come.
  Result<void> enter() {
    const CUresult result = cuCtxSetCurrent(context_);
    if (result != CUDA_SUCCESS) return failure_of(result, name_, "cannot be entered");
    return {};
  }

  const CUdevice device_;
  const CUcontext context_;
  const std::string name_;
};

}  // namespace

Result<std::unique_ptr<DeviceMemory>> open_cuda_memory(const std::string& uuid) {
  if (const CUresult result = cuInit(0); result != CUDA_SUCCESS)
    return Error{ErrorCode::Unsupported, uuid, "CUDA's driver does not start", "see nvidia-smi"};
  int count = 0;
  if (const CUresult result = cuDeviceGetCount(&count); result != CUDA_SUCCESS)
    return failure_of(result, uuid, "devices cannot be counted");
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    CUuuid found{};
    if (cuDeviceGet(&device, i) != CUDA_SUCCESS || cuDeviceGetUuid(&found, device) != CUDA_SUCCESS) continue;
    if (text_of(found) != uuid) continue;
    CUcontext context = nullptr;
    if (const CUresult result = cuDevicePrimaryCtxRetain(&context, device); result != CUDA_SUCCESS)
      return failure_of(result, uuid, "cannot be opened");
    return std::unique_ptr<DeviceMemory>{std::make_unique<CudaMemory>(device, context, uuid)};
  }
  return Error{ErrorCode::NotFound, uuid, "is no device of this host", "nvidia-smi -L lists them"};
}

}  // namespace penstock::worker
