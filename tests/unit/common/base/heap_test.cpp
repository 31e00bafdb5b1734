#include "common/base/heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/base/rng.hpp"

namespace penstock {
namespace {

struct Item {
  std::uint32_t key = 0;
  std::uint32_t name = 0;
  friend bool operator<(const Item& a, const Item& b) { return a.key != b.key ? a.key < b.key : a.name < b.name; }
};
struct Track {
  std::vector<std::uint32_t>* positions = nullptr;
  void operator()(const Item& item, std::uint32_t position) const { (*positions)[item.name] = position; }
};
using TestHeap = Heap<Item, Track>;

TEST(Heap, WhatComesInOrderLeavesInOrder) {
  std::vector<std::uint32_t> positions(5000);
  TestHeap heap{Track{&positions}};
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    heap.push(Item{i, i});
    if (i % 3 != 2) continue;
    EXPECT_EQ(heap.pop().key, next++);
  }
  while (!heap.empty()) EXPECT_EQ(heap.pop().key, next++);
  EXPECT_EQ(next, 5000U);
}

// Items taken out on trial come back from the last to the first, again and again, among others that come and go.
TEST(Heap, WhatComesBackToTheFrontKeepsTheOrder) {
  std::vector<std::uint32_t> positions(20000);
  TestHeap heap{Track{&positions}};
  std::uint32_t next = 0;
  std::uint32_t left = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 200; ++i, ++next) heap.push(Item{next, next});
    std::vector<Item> taken;
    for (std::size_t i = 0; i < (round % 3 == 0 ? heap.size() : 150U); ++i) taken.push_back(heap.pop());
    for (std::size_t i = taken.size(); i-- > 0;) heap.push(taken[i]);
    heap.update(positions[left + 5], Item{left + 5, left + 5});
    for (int i = 0; i < 190; ++i) EXPECT_EQ(heap.pop().key, left++);
    EXPECT_EQ(heap.size(), next - left);
  }
  while (!heap.empty()) EXPECT_EQ(heap.pop().key, left++);
  EXPECT_EQ(left, next);
}

TEST(Heap, AnItemThatLeftIsNowhere) {
  std::vector<std::uint32_t> positions(3);
  TestHeap heap{Track{&positions}};
  for (std::uint32_t i = 0; i < 3; ++i) heap.push(Item{i, i});
  heap.erase(positions[1]);
  EXPECT_EQ(positions[1], TestHeap::kNowhere);
  EXPECT_EQ(heap.size(), 2U);
  EXPECT_EQ(heap.pop().key, 0U);
  EXPECT_EQ(heap.pop().key, 2U);
  EXPECT_TRUE(heap.empty());
}

TEST(Heap, LastOfTheRunMayLeaveFirst) {
  std::vector<std::uint32_t> positions(4);
  TestHeap heap{Track{&positions}};
  for (std::uint32_t i = 0; i < 3; ++i) heap.push(Item{i, i});
  heap.erase(positions[1]);
  heap.erase(positions[2]);
  heap.push(Item{1, 3});
  EXPECT_EQ(heap.pop().name, 0U);
  EXPECT_EQ(heap.pop().name, 3U);
  EXPECT_TRUE(heap.empty());
}

// Whatever is pushed, changed and erased, the order is that of a sorted list, and positions are right.
TEST(Heap, BehavesLikeASortedListForAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng{seed};
    constexpr std::uint32_t kNames = 300;
    std::vector<std::uint32_t> positions(kNames, TestHeap::kNowhere);
    TestHeap heap{Track{&positions}};
    std::vector<Item> model;
    std::uint32_t rising = 0;
    for (int step = 0; step < 4000; ++step) {
      const auto name = static_cast<std::uint32_t>(rng.below(kNames));
      const auto known = std::find_if(model.begin(), model.end(), [&](const Item& item) { return item.name == name; });
      const std::uint32_t key = rng.chance(2, 3) ? ++rising : static_cast<std::uint32_t>(rng.below(5000));
      if (known == model.end()) {
        heap.push(Item{key, name});
        model.push_back(Item{key, name});
      } else if (rng.chance(1, 2)) {
        heap.update(positions[name], Item{key, name});
        known->key = key;
      } else {
        heap.erase(positions[name]);
        model.erase(known);
      }
      ASSERT_EQ(heap.size(), model.size());
      ASSERT_EQ(heap.empty(), model.empty());
      if (model.empty()) continue;
      const Item best = *std::min_element(model.begin(), model.end());
      ASSERT_EQ(heap.top().name, best.name);
      ASSERT_EQ(heap.top_position(), positions[best.name]);
      for (const Item& item : model) ASSERT_EQ(heap.at(positions[item.name]).key, item.key);
      std::size_t visited = 0;
      heap.for_each([&](const Item&) { ++visited; });
      ASSERT_EQ(visited, model.size());
      if (rng.chance(1, 4)) {
        ASSERT_EQ(heap.pop().name, best.name);
        std::erase_if(model, [&](const Item& item) { return item.name == best.name; });
      }
    }
  }
}

}  // namespace
}  // namespace penstock
