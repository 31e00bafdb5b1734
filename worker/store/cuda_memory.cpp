// DeviceMemory by CUDA's driver, loaded when a device is opened, so that one build serves hosts with and without GPUs.
#include <dlfcn.h>

#include <array>
#include <cstdio>

#include "worker/store/device_memory.hpp"

namespace penstock::worker {
namespace {

// The needed part of cuda.h, as NVIDIA documents it; these names and layouts are stable for all drivers since CUDA
// 11.4. (tidy: foreign)
using Status = int;
using Device = int;
using Context = struct CudaContextOpaque*;
using Address = unsigned long long;
struct Uuid {
  std::array<unsigned char, 16> bytes;
};
constexpr Status kSuccess = 0;
constexpr Status kOutOfMemory = 2;

/// The library, loaded and started. The driver has threads of its own, so it is never unloaded.
class Driver {
 public:
  Result<void> open(const std::string& path) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* why = dlerror();
      return Error{ErrorCode::Unsupported, path,
                   std::string{"cannot be loaded: "} + (why == nullptr ? "unknown reason" : why),
                   "install NVIDIA's driver; `nvidia-smi` must work"};
    }
    Status (*start)(unsigned) = nullptr;
    const bool whole = find("cuInit", start) && find("cuGetErrorString", words_of) && find("cuDeviceGetCount", count) &&
                       find("cuDeviceGet", device_at) && find("cuDeviceGetUuid_v2", uuid_of) &&
                       find("cuDevicePrimaryCtxRetain", retain) && find("cuDevicePrimaryCtxRelease_v2", release) &&
                       find("cuCtxSetCurrent", enter) && find("cuMemAlloc_v2", allocate) &&
                       find("cuMemFree_v2", free) && find("cuMemcpyHtoD_v2", write) && find("cuMemcpyDtoH_v2", read) &&
                       find("cuStreamSynchronize", finish);
    if (!whole)
      return Error{ErrorCode::Unsupported, path, "lacks functions of CUDA's driver", "is it older than CUDA 11.4?"};
    if (const Status status = start(0); status != kSuccess)
      return Error{ErrorCode::Unsupported, path, "CUDA's driver does not start: " + words(status), "see `nvidia-smi`"};
    return {};
  }

  std::string words(Status status) const {
    const char* text = nullptr;
    const bool known = words_of(status, &text) == kSuccess && text != nullptr;
    return known ? text : "error " + std::to_string(status);
  }
  Error failure(Status status, const std::string& subject, const char* what) const {
    const ErrorCode code = status == kOutOfMemory ? ErrorCode::ResourceExhausted : ErrorCode::Internal;
    return Error{code, subject, std::string{what} + ": " + words(status), {}};
  }

  Status (*words_of)(Status, const char**) = nullptr;
  Status (*count)(int*) = nullptr;
  Status (*device_at)(Device*, int) = nullptr;
  Status (*uuid_of)(Uuid*, Device) = nullptr;
  Status (*retain)(Context*, Device) = nullptr;
  Status (*release)(Device) = nullptr;
  Status (*enter)(Context) = nullptr;
  Status (*allocate)(Address*, std::size_t) = nullptr;
  Status (*free)(Address) = nullptr;
  Status (*write)(Address, const void*, std::size_t) = nullptr;
  Status (*read)(void*, Address, std::size_t) = nullptr;
  Status (*finish)(struct CudaStreamOpaque*) = nullptr;

 private:
  template <class Function>
  bool find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    return function != nullptr;
  }

  void* handle_ = nullptr;
};

/// As NVML and `nvidia-smi -L` write it: GPU-01234567-89ab-cdef-0123-456789abcdef.
std::string text_of(const Uuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(uuid.bytes[i]));
    text += digits.data();
  }
  return text;
}

class CudaMemory : public DeviceMemory {
 public:
  CudaMemory(const Driver& driver, Device device, Context context, std::string name)
      : driver_(driver), device_(device), context_(context), name_(std::move(name)) {}
  ~CudaMemory() override { driver_.release(device_); }

  Result<std::uint64_t> allocate(std::size_t bytes) override {
    PENSTOCK_TRY(enter());
    Address address = 0;
    if (const Status status = driver_.allocate(&address, bytes); status != kSuccess)
      return driver_.failure(status, name_, "gives no memory");
    return std::uint64_t{address};
  }
  void free(std::uint64_t address) override {
    if (enter()) driver_.free(address);
  }
  Result<void> write(std::uint64_t address, std::span<const std::byte> from) override {
    PENSTOCK_TRY(enter());
    Status status = driver_.write(address, from.data(), from.size());
    // For memory that is not pinned the call may return when the bytes have left the host: other streams do not wait.
    if (status == kSuccess) status = driver_.finish(nullptr);
    if (status != kSuccess) return driver_.failure(status, name_, "cannot be written");
    return {};
  }
  Result<void> read(std::uint64_t address, std::span<std::byte> to) override {
    PENSTOCK_TRY(enter());
    const Status status = driver_.read(to.data(), address, to.size());
    if (status != kSuccess) return driver_.failure(status, name_, "cannot be read");
    return {};
  }

 private:
  // A context belongs to a thread, and any thread may call.
  Result<void> enter() {
    const Status status = driver_.enter(context_);
    if (status != kSuccess) return driver_.failure(status, name_, "cannot be entered");
    return {};
  }

  const Driver driver_;
  const Device device_;
  const Context context_;
  const std::string name_;
};

}  // namespace

Result<std::unique_ptr<DeviceMemory>> open_cuda_memory(const std::string& uuid, const std::string& library) {
  Driver driver;
  PENSTOCK_TRY(driver.open(library));
  int count = 0;
  if (const Status status = driver.count(&count); status != kSuccess)
    return driver.failure(status, uuid, "devices cannot be counted");
  for (int i = 0; i < count; ++i) {
    Device device = 0;
    Uuid found{};
    if (driver.device_at(&device, i) != kSuccess || driver.uuid_of(&found, device) != kSuccess) continue;
    if (text_of(found) != uuid) continue;
    Context context = nullptr;
    if (const Status status = driver.retain(&context, device); status != kSuccess)
      return driver.failure(status, uuid, "cannot be opened");
    return std::unique_ptr<DeviceMemory>{std::make_unique<CudaMemory>(driver, device, context, uuid)};
  }
  return Error{ErrorCode::NotFound, uuid, "is no device of this host, or CUDA_VISIBLE_DEVICES hides it",
               "`nvidia-smi -L` lists them"};
}

}  // namespace penstock::worker
