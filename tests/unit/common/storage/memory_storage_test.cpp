#include "common/storage/memory_storage.hpp"

#include "tests/support/storage_contract.hpp"

namespace penstock {
namespace {

/// The content lives as long as the object: after `reopen` the object is the same one.
struct InMemory : StorageUnderTest {
  Storage& storage() override { return memory; }
  void reopen() override {}
  MemoryStorage memory;
};

INSTANTIATE_TEST_SUITE_P(InMemory, StorageContract,
                         ::testing::Values(StorageMaker{[] { return std::make_unique<InMemory>(); }}));

}  // namespace
}  // namespace penstock
