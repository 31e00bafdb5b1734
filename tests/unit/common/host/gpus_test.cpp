#include "common/host/gpus.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

class Gpus : public ::testing::Test {
 protected:
  Gpus() : root(scratch.path()) {
    for (const auto& [address, node] : {std::pair{"0000:1b:00.0", "0\n"}, std::pair{"0000:c3:00.0", "1\n"}}) {
      const std::filesystem::path folder = std::filesystem::path{root + "/sys/bus/pci/devices"} / address;
      std::filesystem::create_directories(folder);
      std::ofstream{folder / "numa_node"} << node;
    }
    search.library = PENSTOCK_FAKE_NVML;
    search.root = root;
  }

  std::vector<std::uint32_t> seen_with(std::string_view visible) {
    search.visible = visible;
    std::vector<std::uint32_t> indices;
    const std::vector<FoundGpu> gpus = find_gpus(search).value();
    for (const FoundGpu& gpu : gpus) indices.push_back(gpu.index);
    return indices;
  }

  const ScratchDirectory scratch;
  const std::string root;
  GpuSearch search;
};

using Indices = std::vector<std::uint32_t>;

TEST_F(Gpus, AreFoundWithAllThatABandNeeds) {
  const Result<std::vector<FoundGpu>> gpus = find_gpus(search);
  ASSERT_TRUE(gpus.has_value()) << to_string(gpus.error());
  ASSERT_EQ(gpus->size(), 2U) << "the third does not answer";
  EXPECT_EQ((*gpus)[0],
            (FoundGpu{0, "GPU-11111111-aaaa-bbbb-cccc-000000000001", "Fake H200", "0000:1b:00.0", kGiB * 150, 0, 1}));
  EXPECT_EQ((*gpus)[1].numa_node, 1);
  EXPECT_EQ((*gpus)[1].linked, 1U) << "both are in one set";
}

TEST_F(Gpus, NodeIsUnknownWhereTheKernelDoesNotSay) {
  search.root = "/no/such/root";
  EXPECT_EQ(find_gpus(search).value()[0].numa_node, -1);
}

TEST_F(Gpus, VisibleOnesAreChosenByIndexOrUuid) {
  EXPECT_EQ(seen_with("0,1"), (Indices{0, 1}));
  EXPECT_EQ(seen_with("1"), Indices{1});
  EXPECT_EQ(seen_with("GPU-2222"), Indices{1});
  EXPECT_EQ(seen_with("1,1,GPU-1"), (Indices{1, 0}));
  EXPECT_EQ(seen_with(""), Indices{});
  EXPECT_EQ(seen_with("-1"), Indices{});
  EXPECT_EQ(seen_with("0,7,1"), Indices{0}) << "as CUDA does";
}

TEST_F(Gpus, NamedLibraryMustWork) {
  search.library = "/no/such/library.so";
  EXPECT_EQ(find_gpus(search).error().code, ErrorCode::Unsupported);
  search.library = PENSTOCK_FAKE_NVML_WITHOUT_DRIVER;
  const Result<std::vector<FoundGpu>> gpus = find_gpus(search);
  ASSERT_FALSE(gpus.has_value());
  EXPECT_NE(gpus.error().message.find("nvmlInit gives 9"), std::string::npos);
  search.library = "libdl.so.2";
  EXPECT_NE(find_gpus(search).error().message.find("lacks functions"), std::string::npos);
}

TEST(PciAddress, HasTheFormOfTheKernel) {
  EXPECT_EQ(pci_address_of("00000000:C3:00.0"), "0000:c3:00.0");
  EXPECT_EQ(pci_address_of("0000:c3:00.0"), "0000:c3:00.0");
  EXPECT_EQ(pci_address_of("00010002:01:00.0"), "0002:01:00.0");
  EXPECT_EQ(pci_address_of(""), "");
}

}  // namespace
}  // namespace penstock
