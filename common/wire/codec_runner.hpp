// Codec of the messages between workers and runners; see schema/runner.capnp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/runner.hpp"

namespace penstock {

/// Names the content of a `RunnerProgram`.
std::uint64_t hash_of_program(std::string_view content);

std::vector<std::uint64_t> encode_runner(const ToRunner& message);
std::vector<std::uint64_t> encode_runner(const FromRunner& message);

/// Views in the decoded message point into `bytes`. `descriptors` came with them; a datum that names another one is
/// refused. Error: MalformedFrame. REQUIRES: the bytes are 8-byte aligned.
Result<ToRunner> decode_to_runner(std::span<const std::byte> bytes, std::size_t descriptors);
Result<FromRunner> decode_from_runner(std::span<const std::byte> bytes, std::size_t descriptors);

}  // namespace penstock
