// Job files: TOML, JSON and WfFormat, and the check of the graphs that come out.
#include <string>

#include "cli/jobfile/job_file.hpp"
#include "cli/jobfile/wfformat.hpp"
#include "supervisor/core/graph_shape.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace penstock {
namespace {

void try_job_text(std::string_view text, cli::DocumentFormat format) {
  cli::JobFileOptions options;
  options.base_directory = "/nowhere";
  options.look_for_input_files = false;
  options.limits.subtasks_max = 20'000;
  const Result<cli::JobFile> job = cli::read_job_text(text, format, "input", options);
  if (!job) {
    fuzz_expect(!to_string(job.error()).empty(), "a refusal without a word");
    return;
  }
  // The supervisor takes what its own reader has made, or says why.
  supervisor::GraphIntake intake{options.limits};
  if (intake.add(job->graph)) static_cast<void>(intake.finish());
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  penstock::FuzzInput input{data, size};
  switch (input.byte() % 3) {
    case 0: penstock::try_job_text(input.rest(), penstock::cli::DocumentFormat::Toml); break;
    case 1: penstock::try_job_text(input.rest(), penstock::cli::DocumentFormat::Json); break;
    default: static_cast<void>(penstock::cli::read_wfformat_text(input.rest(), {"input", "/nowhere"}, {}));
  }
  return 0;
}
