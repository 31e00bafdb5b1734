// A native operator in C++ that computes on several threads: it counts primes.
//
// The payload is a number as text; output 0 is how many primes lie below it, output 1 (if the template has two) how
// many threads took part. TBB finds itself in an arena of the subtask's slots: with `slots = 1` there is one thread,
// with `slots = 4` there are at most four, however many processors the host has. Nothing has to be set for that.
#include <penstock/operator.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>

namespace {

constexpr std::uint64_t kLargest = 1'000'000'000;

bool is_prime(std::uint64_t number) {
  if (number < 2) return false;
  for (std::uint64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0) return false;
  return true;
}

int write_number(penstock_call* call, std::uint32_t output, std::uint64_t number) {
  const std::string text = std::to_string(number) + "\n";
  void* bytes = call->output(call, output, text.size());
  if (bytes == nullptr) return output == 0 ? call->fail(call, "there is no memory for the output") : 0;
  std::memcpy(bytes, text.data(), text.size());
  return 0;
}

int count_primes(penstock_call* call) {
  const penstock_view& from = call->payload.bytes > 0 ? call->payload : call->template_payload;
  const char* text = static_cast<const char*>(from.data);
  std::uint64_t limit = 0;
  const auto [end, error] = std::from_chars(text, text + from.bytes, limit);
  if (error != std::errc{} || end != text + from.bytes || limit > kLargest)
    return call->fail(call, "the payload of count_primes is a number up to a billion");
  try {
    // A counter for each thread; the number of counters is the number of threads.
    tbb::enumerable_thread_specific<std::uint64_t> counts{0};
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>{0, limit, 1000},
                      [&](const tbb::blocked_range<std::uint64_t>& part) {
                        if (call->cancelled(call) != 0) return;
                        std::uint64_t& count = counts.local();
                        for (std::uint64_t number = part.begin(); number != part.end(); ++number)
                          count += is_prime(number) ? 1 : 0;
                      });
    std::uint64_t primes = 0;
    for (const std::uint64_t count : counts) primes += count;
    const int written = write_number(call, 0, primes);
    return written != 0 ? written : write_number(call, 1, counts.size());
  } catch (const std::exception& failure) {
    return call->fail(call, failure.what());
  }
}

constexpr penstock_operator kOperators[] = {{"count_primes", count_primes}};
constexpr penstock_operator_table kTable{PENSTOCK_OPERATOR_ABI, 1, kOperators};

}  // namespace

extern "C" const penstock_operator_table* penstock_operators() { return &kTable; }
