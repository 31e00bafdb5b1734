#include "common/host/memory_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace penstock {
namespace {

Descriptor again(const Descriptor& descriptor) { return Descriptor{::dup(descriptor.get())}; }

TEST(MemorySegment, WhatWasWrittenIsReadByWhoeverGetsTheDescriptor) {
  Result<MemorySegment> made = MemorySegment::make(5);
  ASSERT_TRUE(made);
  std::memcpy(made->data(), "hello", 5);
  ASSERT_TRUE(made->seal());
  Result<MemorySegment> mapped = MemorySegment::map(again(made->descriptor()), 5);
  ASSERT_TRUE(mapped) << to_string(mapped.error());
  EXPECT_EQ(std::memcmp(mapped->bytes().data(), "hello", 5), 0);
  EXPECT_EQ(std::memcmp(made->bytes().data(), "hello", 5), 0) << "its maker still sees it";
}

TEST(MemorySegment, OneThatIsNotSealedIsRefused) {
  Result<MemorySegment> made = MemorySegment::make(8);
  ASSERT_TRUE(made);
  EXPECT_FALSE(MemorySegment::map(again(made->descriptor()), 8));
}

TEST(MemorySegment, OneThatIsShorterThanSaidIsRefused) {
  Result<MemorySegment> made = MemorySegment::make(8);
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->seal());
  EXPECT_FALSE(MemorySegment::map(again(made->descriptor()), 9));
}

TEST(MemorySegment, ADescriptorOfSomethingElseIsRefused) {
  EXPECT_FALSE(MemorySegment::map(Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}, 1));
}

TEST(MemorySegment, OnceSealedNobodyWrites) {
  Result<MemorySegment> made = MemorySegment::make(8);
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->seal());
  EXPECT_LT(::write(made->descriptor().get(), "x", 1), 0);
  EXPECT_EQ(::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, made->descriptor().get(), 0), MAP_FAILED);
}

TEST(MemorySegment, WhatIsWrittenPrivatelyNobodyElseSees) {
  Result<MemorySegment> made = MemorySegment::make(5);
  ASSERT_TRUE(made);
  std::memcpy(made->data(), "hello", 5);
  ASSERT_TRUE(made->seal());
  Result<MemorySegment> one = MemorySegment::map(again(made->descriptor()), 5);
  Result<MemorySegment> other = MemorySegment::map(again(made->descriptor()), 5);
  ASSERT_TRUE(one && other);
  for (MemorySegment* writer : {&*one, &*made}) {
    const std::byte* place = writer->data();
    ASSERT_TRUE(writer->write_privately());
    EXPECT_EQ(writer->data(), place);
    writer->data()[0] = std::byte{'j'};
    EXPECT_EQ(std::memcmp(writer->bytes().data(), "jello", 5), 0);
    ASSERT_TRUE(writer->write_privately()) << "again";
    EXPECT_EQ(std::memcmp(writer->bytes().data(), "jello", 5), 0);
  }
  EXPECT_EQ(std::memcmp(other->bytes().data(), "hello", 5), 0);
}

TEST(MemorySegment, AnEmptyOneIsPossible) {
  Result<MemorySegment> made = MemorySegment::make(0);
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->seal());
  Result<MemorySegment> mapped = MemorySegment::map(again(made->descriptor()), 0);
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(mapped->bytes().empty());
  EXPECT_TRUE(mapped->write_privately());
}

TEST(MemorySegment, MoreThanTheHostCanNameIsRefused) { EXPECT_FALSE(MemorySegment::make(~std::uint64_t{0})); }

}  // namespace
}  // namespace penstock
