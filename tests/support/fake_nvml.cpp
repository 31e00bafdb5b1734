// A management library of a host with two GPUs, for tests of how they are found. Its names are NVIDIA's.
#include <cstdio>
#include <cstring>

extern "C" {

struct FakeDevice {
  const char* uuid;
  const char* name;
  const char* bus_id;
  unsigned long long memory;
};
static const FakeDevice fake_devices[] = {
    {"GPU-11111111-aaaa-bbbb-cccc-000000000001", "Fake H200", "00000000:1B:00.0", 150ULL << 30U},
    {"GPU-22222222-aaaa-bbbb-cccc-000000000002", "Fake H200", "00000000:C3:00.0", 150ULL << 30U},
};

struct FakeMemory {
  unsigned long long total, free, used;
};
struct FakePci {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

#ifdef FAKE_NVML_WITHOUT_DRIVER
int nvmlInit_v2() { return 9; }
#else
int nvmlInit_v2() { return 0; }
#endif
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return 0;
}
// The third has fallen off the bus.
int nvmlDeviceGetHandleByIndex_v2(unsigned index, const FakeDevice** device) {
  if (index >= 2) return 15;
  *device = &fake_devices[index];
  return 0;
}
int nvmlDeviceGetUUID(const FakeDevice* device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", device->uuid);
  return 0;
}
int nvmlDeviceGetName(const FakeDevice* device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", device->name);
  return 0;
}
int nvmlDeviceGetMemoryInfo(const FakeDevice* device, FakeMemory* memory) {
  *memory = {device->memory, device->memory, 0};
  return 0;
}
// The two are linked by NVLink (2), and by nothing else.
int nvmlDeviceGetP2PStatus(const FakeDevice*, const FakeDevice*, int by, int* status) {
  *status = by == 2 ? 0 : 1;
  return 0;
}
int nvmlDeviceGetPciInfo_v3(const FakeDevice* device, FakePci* pci) {
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "%s", device->bus_id);
  return 0;
}
}
