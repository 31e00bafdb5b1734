// Settings of the metrics that processes serve to Prometheus.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/base/time.hpp"

namespace penstock {

struct MetricsConfig {
  std::string supervisor_listen;  ///< Empty: a supervisor serves none.
  std::string worker_listen;
  std::uint32_t connections_max = 32;
  std::uint32_t header_bytes_max = 8192;
  Duration request_timeout = std::chrono::seconds{5};
  Duration response_timeout = std::chrono::seconds{10};
  Duration idle_timeout = std::chrono::minutes{3};
  Duration answer_timeout = std::chrono::seconds{2};
  Duration sample_every = std::chrono::seconds{1};
  std::uint32_t jobs_max = 20'000;
};

}  // namespace penstock
