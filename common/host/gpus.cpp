#include "common/host/gpus.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "common/host/cgroup.hpp"
#include "common/host/log.hpp"

namespace penstock {
namespace {

// The needed part of nvml.h, as NVIDIA documents it; its names and layouts are stable since 2013. (tidy: foreign)
using Device = struct NvmlDeviceOpaque*;
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct NvmlPci {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};
constexpr int kSuccess = 0;
constexpr int kByNvlink = 2;  // Of nvmlGpuP2PCapsIndex_t.
constexpr unsigned kDevicesMax = 1024;

/// The library, loaded and started.
class Nvml {
 public:
  ~Nvml() {
    if (started_) shutdown_();
    if (handle_ != nullptr) dlclose(handle_);
  }
  Nvml() = default;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  Result<void> open(const std::string& path) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* why = dlerror();
      return Error{ErrorCode::Unsupported,
                   path,
                   std::string{"cannot be loaded: "} + (why == nullptr ? "unknown reason" : why),
                   {}};
    }
    int (*start)() = nullptr;
    const bool whole = find("nvmlInit_v2", start) && find("nvmlShutdown", shutdown_) &&
                       find("nvmlDeviceGetCount_v2", count_) && find("nvmlDeviceGetHandleByIndex_v2", by_index_) &&
                       find("nvmlDeviceGetUUID", uuid_) && find("nvmlDeviceGetName", name_) &&
                       find("nvmlDeviceGetMemoryInfo", memory_) && find("nvmlDeviceGetPciInfo_v3", pci_);
    find("nvmlDeviceGetP2PStatus", p2p_);  // Drivers before 2017 lack it.
    if (!whole)
      return Error{ErrorCode::Unsupported, path, "lacks functions of the NVIDIA management library",
                   "is the driver older than 2018?"};
    if (const int code = start(); code != kSuccess)
      return Error{ErrorCode::Unsupported, path, "its driver does not answer: nvmlInit gives " + std::to_string(code),
                   "look at `nvidia-smi`"};
    started_ = true;
    return {};
  }

  std::vector<FoundGpu> list() const {
    std::vector<FoundGpu> gpus;
    unsigned count = 0;
    if (count_(&count) != kSuccess) return gpus;
    for (unsigned i = 0; i < std::min(count, kDevicesMax); ++i) {
      FoundGpu gpu;
      gpu.index = i;
      if (describe(i, gpu))
        gpus.push_back(std::move(gpu));
      else
        log_line(LogLevel::Warn, "gpu left out",
                 "index=" + std::to_string(i) + " reason=\"it does not say what it is\"");
    }
    find_links(gpus);
    return gpus;
  }

 private:
  /// Numbers the sets of GPUs that reach each other by NVLink, directly or by a switch.
  void find_links(std::vector<FoundGpu>& gpus) const {
    std::uint32_t sets = 0;
    for (std::size_t i = 0; p2p_ != nullptr && i < gpus.size(); ++i)
      for (std::size_t other = 0; other < i; ++other) {
        if (!are_linked(gpus[i].index, gpus[other].index)) continue;
        if (gpus[other].linked == 0) gpus[other].linked = ++sets;
        const std::uint32_t before = gpus[i].linked;
        gpus[i].linked = gpus[other].linked;
        for (FoundGpu& each : gpus)
          if (before != 0 && each.linked == before) each.linked = gpus[other].linked;
      }
  }

  bool are_linked(unsigned one, unsigned other) const {
    Device first = nullptr;
    Device second = nullptr;
    int status = -1;
    return by_index_(one, &first) == kSuccess && by_index_(other, &second) == kSuccess &&
           p2p_(first, second, kByNvlink, &status) == kSuccess && status == 0;
  }

  bool describe(unsigned index, FoundGpu& gpu) const {
    Device device = nullptr;
    std::array<char, 96> uuid{};
    std::array<char, 96> name{};
    NvmlMemory memory{};
    NvmlPci pci{};
    if (by_index_(index, &device) != kSuccess || uuid_(device, uuid.data(), uuid.size()) != kSuccess ||
        memory_(device, &memory) != kSuccess || pci_(device, &pci) != kSuccess)
      return false;
    if (name_(device, name.data(), name.size()) != kSuccess) name = {};
    uuid.back() = name.back() = pci.bus_id[sizeof pci.bus_id - 1] = 0;
    gpu.uuid = uuid.data();
    gpu.name = name.data();
    gpu.memory = Bytes{static_cast<std::int64_t>(std::min<unsigned long long>(memory.total, INT64_MAX))};
    gpu.pci_address = pci_address_of(pci.bus_id);
    return !gpu.uuid.empty();
  }

  template <class Function>
  bool find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    return function != nullptr;
  }

  void* handle_ = nullptr;
  bool started_ = false;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*by_index_)(unsigned, Device*) = nullptr;
  int (*uuid_)(Device, char*, unsigned) = nullptr;
  int (*name_)(Device, char*, unsigned) = nullptr;
  int (*memory_)(Device, NvmlMemory*) = nullptr;
  int (*pci_)(Device, NvmlPci*) = nullptr;
  int (*p2p_)(Device, Device, int, int*) = nullptr;
};

std::int32_t numa_node_of(const std::string& pci_address, const std::string& root) {
  const std::string text = read_small_file(root + "/sys/bus/pci/devices/" + pci_address + "/numa_node");
  std::int32_t node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node;
}

const FoundGpu* find_visible(const std::vector<FoundGpu>& gpus, std::string_view wanted) {
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  const bool is_index = error == std::errc{} && end == wanted.data() + wanted.size();
  for (const FoundGpu& gpu : gpus)
    if (is_index ? gpu.index == index : !wanted.empty() && gpu.uuid.starts_with(wanted)) return &gpu;
  return nullptr;
}

}  // namespace

std::string pci_address_of(std::string_view text) {
  // The domain has eight digits in the library and four in the kernel.
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && colon > 4) text.remove_prefix(colon - 4);
  std::string address{text};
  for (char& c : address)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  return address;
}

std::vector<FoundGpu> visible_gpus(const std::vector<FoundGpu>& gpus, std::string_view visible) {
  std::vector<FoundGpu> chosen;
  while (!visible.empty()) {
    const std::size_t comma = visible.find(',');
    const FoundGpu* gpu = find_visible(gpus, visible.substr(0, comma));
    if (gpu == nullptr) break;
    if (std::find(chosen.begin(), chosen.end(), *gpu) == chosen.end()) chosen.push_back(*gpu);
    visible.remove_prefix(comma == std::string_view::npos ? visible.size() : comma + 1);
  }
  return chosen;
}

Result<std::vector<FoundGpu>> find_gpus(const GpuSearch& search) {
  Nvml library;
  if (const Result<void> opened = library.open(search.library.empty() ? "libnvidia-ml.so.1" : search.library);
      !opened) {
    if (!search.library.empty()) return opened.error();
    // A missing library is normal on most hosts; a library without an answering driver is logged.
    if (opened.error().message.find("cannot be loaded") == std::string::npos)
      log_error(LogLevel::Warn, "no gpus", opened.error());
    return std::vector<FoundGpu>{};
  }
  std::vector<FoundGpu> gpus = library.list();
  for (FoundGpu& gpu : gpus) gpu.numa_node = numa_node_of(gpu.pci_address, search.root);
  return search.visible ? visible_gpus(gpus, *search.visible) : gpus;
}

}  // namespace penstock
