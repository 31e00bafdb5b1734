#include "cli/commands/address_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace penstock::cli {
namespace {

class AddressFile : public ::testing::Test {
 protected:
  AddressFile() { EXPECT_NE(::mkdtemp(directory_.data()), nullptr); }
  ~AddressFile() override { std::filesystem::remove_all(directory_); }

  std::string directory_ = std::filesystem::temp_directory_path() / "penstock-address-XXXXXX";
};

TEST_F(AddressFile, HoldsTheAddressAndNothingElseIsLeft) {
  const std::string path = directory_ + "/address";
  for (const char* address : {"127.0.0.1:7465", "127.0.0.1:1"}) {
    ASSERT_TRUE(announce_address(path, address).has_value());
    std::string line;
    std::getline(std::ifstream{path}, line);
    EXPECT_EQ(line, address);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{directory_}, {}), 1);
}

TEST_F(AddressFile, WithoutAPathNothingIsWritten) { EXPECT_TRUE(announce_address("", "127.0.0.1:7465").has_value()); }

TEST_F(AddressFile, APathThatCannotBeWrittenIsNamed) {
  const Result<void> announced = announce_address(directory_ + "/no/such/address", "127.0.0.1:7465");
  ASSERT_FALSE(announced.has_value());
  EXPECT_EQ(announced.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(announced.error().subject, directory_ + "/no/such/address");
}

}  // namespace
}  // namespace penstock::cli
