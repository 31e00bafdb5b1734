// The requests of native templates of all jobs, numbered: runs of one number may follow each other on a lane.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/resources.hpp"

namespace penstock::worker {

/// The few different requests of templates of all jobs; 0 stands for none of them. Passive.
class ShapeTable {
 public:
  /// Engines use a handful; further requests are not offered to lanes.
  static constexpr std::uint16_t kShapesMax = 64;

  /// The number of this request, with one more user; 0 if the table is full.
  std::uint16_t use(const ResourceVector& request) {
    std::uint16_t unused = 0;
    for (std::uint16_t i = 0; i < shapes_.size(); ++i) {
      const auto number = static_cast<std::uint16_t>(i + 1);
      if (shapes_[i].uses == 0) {
        unused = number;
      } else if (shapes_[i].request == request) {
        ++shapes_[i].uses;
        return number;
      }
    }
    if (unused == 0) {
      if (shapes_.size() == kShapesMax) return 0;
      shapes_.emplace_back();
      unused = static_cast<std::uint16_t>(shapes_.size());
    }
    shapes_[unused - 1U] = {request, 1};
    return unused;
  }
  /// Removes a user; without users the number may stand for another request.
  void release(std::uint16_t number) {
    if (number > 0) --shapes_[number - 1U].uses;
  }

 private:
  struct Shape {
    ResourceVector request;
    std::uint32_t uses = 0;
  };
  std::vector<Shape> shapes_;
};

}  // namespace penstock::worker
