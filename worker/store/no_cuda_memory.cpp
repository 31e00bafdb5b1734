// In the place of cuda_memory.cpp in a build without CUDA.
#include "worker/store/device_memory.hpp"

namespace penstock::worker {

Result<std::unique_ptr<DeviceMemory>> open_cuda_memory(const std::string& uuid) {
  return Error{ErrorCode::Unsupported, uuid, "this build has no CUDA", "build where CMake finds the CUDA toolkit"};
}

}  // namespace penstock::worker
