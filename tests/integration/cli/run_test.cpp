// Whole runs: the examples with their results, the figures that scripts read, failures, and Ctrl-C.
// tidy: foreign-file tasks (of WfFormat)
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/integration/cluster/cluster_processes.hpp"

namespace penstock {
namespace {

using Json = nlohmann::json;

const std::string kExamples = PENSTOCK_SOURCE_DIRECTORY "/examples/";

/// The output of a call with --json; null if it is no JSON, or more than one line.
Json json_of(const BinaryRun& run) {
  EXPECT_EQ(run.output.find('\n'), run.output.size() - 1) << run.output;
  Json parsed = Json::parse(run.output, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << run.output << run.errors;
  return parsed;
}

/// The text of a result of a run, empty if there is none of that key.
std::string result_of(const Json& end, const std::string& key) {
  for (const Json& result : end["results"])
    if (result["key"] == key) return result["text"];
  return {};
}

TEST(Run, EveryExampleSucceedsWithACheckedResult) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator{kExamples}) {
    if (file.path().extension() != ".toml" && file.path().extension() != ".json") continue;
    SCOPED_TRACE(file.path());
    ++count;
    const BinaryRun run = run_binary({"run", file.path(), "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.errors;
    const Json end = json_of(run);
    EXPECT_EQ(end["state"], "succeeded");
    EXPECT_EQ(end["subtasks"], end["succeeded"]);
    EXPECT_EQ(end["failed"], 0);
    EXPECT_FALSE(end["results"].empty());
  }
  EXPECT_GE(count, 4U);
}

// On drivers of the tests' own: two devices with memory of the process.
TEST(Run, OutputsOfOperatorsStayOnTheirDevice) {
  const ScratchDirectory scratch;
  BinaryCall call;
  call.arguments = {"run", "--json", "--operators", PENSTOCK_DEVICE_OPERATORS};
  call.arguments.push_back(scratch.write("job.toml", R"(
keep = "wanted"
[[subtask]]
key = "make"
array = "0-3"
gpu = 0.25
operator = "device_literal"
payload = "ab"
[[subtask]]
key = "join"
gpu = 0.25
operator = "device_concatenate"
inputs = ["make[*]"]
required = "/gpu-0"
[[subtask]]
key = "beside"
gpu = 0.25
operator = "device_tell"
inputs = ["join"]
required = "/gpu-0"
[[subtask]]
key = "elsewhere"
operator = "concatenate"
inputs = ["join", "beside"]
wanted = true
)"));
  call.environment = {"PENSTOCK_NVML_LIBRARY=" PENSTOCK_FAKE_NVML, "PENSTOCK_CUDA_LIBRARY=" PENSTOCK_FAKE_CUDA};
  const BinaryRun run = run_binary(call);
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(result_of(json_of(run), "elsewhere"), "ababababdevice:abababab");
}

TEST(Run, ExamplesPrintWhatTheyFound) {
  const Json words = json_of(run_binary({"run", kExamples + "word_count.toml", "--json"}));
  EXPECT_NE(result_of(words, "report").find("words in all; counted directly: "), std::string::npos) << words;
  const Json primes = json_of(run_binary({"run", kExamples + "primes.toml", "--json"}));
  EXPECT_EQ(result_of(primes, "check"), "primes below 100000: 9592\n");
}

TEST(Run, PeopleSeeResultTableTimelineAndTimes) {
  const BinaryRun run = run_binary({"run", kExamples + "word_count.toml", "--timeline"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  for (const char* text : {"--- report\n", "  the\n", "state  ", "succeeded", "makespan_s", "numa-0"})
    EXPECT_NE(run.output.find(text), std::string::npos) << text << " in " << run.output;
  EXPECT_NE(run.errors.find("word-count: succeeded, "), std::string::npos) << run.errors;
}

TEST(Run, QuietRunsSayNothingOnStandardError) {
  EXPECT_EQ(run_binary({"run", kExamples + "primes.toml", "--quiet"}).errors, "");
  EXPECT_EQ(run_binary({"run", kExamples + "primes.toml", "--json"}).errors, "");
}

TEST(Run, FiguresOfAReplayAreThere) {
  const ScratchDirectory scratch;
  const std::string workflow = scratch.write("flow.json", R"({
    "name": "flow", "schemaVersion": "1.5",
    "workflow": {
      "specification": {
        "tasks": [
          {"name": "first", "id": "first", "parents": [], "children": ["last"], "inputFiles": [], "outputFiles": ["f"]},
          {"name": "last", "id": "last", "parents": ["first"], "children": [], "inputFiles": ["f"], "outputFiles": []}],
        "files": [{"id": "f", "sizeInBytes": 1000}]},
      "execution": {"makespanInSeconds": 3, "executedAt": "2024-01-01T00:00:00Z", "tasks": [
          {"id": "first", "runtimeInSeconds": 1}, {"id": "last", "runtimeInSeconds": 2}]}}})");
  const BinaryRun run =
      run_binary({"run", "--wfformat", workflow, "--replay", "--time-scale", "0.01", "--slots", "4", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  const Json end = json_of(run);
  EXPECT_EQ(end["subtasks"], 2);
  EXPECT_EQ(end["succeeded"], 2);
  EXPECT_EQ(end["failed"], 0);
  EXPECT_EQ(end["attempts"], 2);
  EXPECT_DOUBLE_EQ(end["critical_path_s"], 0.03);
  EXPECT_DOUBLE_EQ(end["lower_bound_s"], 0.03);
  EXPECT_GE(end["makespan_s"], 0.03);
  EXPECT_TRUE(end["forward_hits"].is_number_integer());
  EXPECT_TRUE(end["forward_misses"].is_number_integer());
}

TEST(Run, AJobThatFailsTellsItsHistory) {
  const ScratchDirectory scratch;
  const std::string job = scratch.write("job.toml",
                                        "[[subtask]]\nkey = \"breaks\"\nretries = 1\n"
                                        "command = \"echo I am broken >&2; exit 7\"\n"
                                        "[[subtask]]\nkey = \"never\"\ncommand = \"true\"\nafter = [\"breaks\"]\n");
  const BinaryRun run = run_binary({"run", job});
  EXPECT_EQ(run.exit_code, 1);
  for (const char* text : {"failed: 'breaks'", "I am broken", "7"})
    EXPECT_NE(run.errors.find(text), std::string::npos) << text << " in " << run.errors;
  EXPECT_NE(run.output.find("failed"), std::string::npos) << run.output;

  const BinaryRun counted = run_binary({"run", job, "--json"});
  EXPECT_EQ(counted.exit_code, 1);
  const Json end = json_of(counted);
  EXPECT_EQ(end["state"], "failed");
  EXPECT_EQ(end["failed"], 1);
  EXPECT_EQ(end["cancelled"], 1);
  EXPECT_GE(end["attempts"], 2);  // And perhaps one that was at the worker already, and never started.
  ASSERT_EQ(end["failures"].size(), 1U);
  EXPECT_EQ(end["failures"][0]["key"], "breaks");
  EXPECT_EQ(end["failures"][0]["exit_code"], 7);
  EXPECT_EQ(end["failures"][0]["history"].size(), 2U);
  EXPECT_NE(end["failures"][0]["output_tail"].get<std::string>().find("I am broken"), std::string::npos);
}

TEST(Run, AJobPastItsTimeLimitIsStoppedAndSaysSo) {
  const ScratchDirectory scratch;
  const std::string rest = "[[subtask]]\nkey = \"sleeps\"\ncommand = [\"sleep\", \"60\"]\n";
  const std::string job = scratch.write("job.toml", "job_time_limit = \"1h\"\n" + rest);
  const BinaryRun run = run_binary({"run", job, "--time-limit", "1s", "--json"});
  EXPECT_EQ(run.exit_code, 1);
  const Json end = json_of(run);
  EXPECT_EQ(end["state"], "failed");
  EXPECT_EQ(end["cancelled"], 1);
  EXPECT_NE(end["error"].get<std::string>().find("has reached its time_limit of 1s (raise time_limit"),
            std::string::npos);
  EXPECT_GE(end["makespan_s"].get<double>(), 1);
  EXPECT_LT(end["makespan_s"].get<double>(), 30);
}

TEST(Run, FailsIfAPromisedFileIsMissing) {
  const ScratchDirectory scratch;
  const std::string job = scratch.write("job.toml",
                                        "[[subtask]]\nkey = \"forgets\"\ncommand = \"touch made\"\n"
                                        "output_files = [\"made\", \"forgotten\"]\n");
  const BinaryRun run = run_binary({"run", job, "--json"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.errors, "penstock: error: 'forgets' has not made its output file " + scratch.at("forgotten") + "\n");
  EXPECT_EQ(json_of(run)["missing_files"].size(), 1U);
}

TEST(Run, CtrlCCancelsAndEndsWhatRuns) {
  const ScratchDirectory scratch;
  const std::string job = scratch.write("job.toml",
                                        "kill_grace = \"100ms\"\n[[subtask]]\nkey = \"long\"\n"
                                        "command = \"echo $$ > pid; trap '' TERM; while :; do sleep 1; done\"\n"
                                        "output_files = [\"pid\"]\n");
  RunningBinary run{BinaryCall{{"run", job}, {}, {}, {}}};
  ASSERT_TRUE(wait_until([&] { return !scratch.read("pid").empty(); }));
  std::string id = scratch.read("pid");
  id.pop_back();
  run.process().signal_group(SIGINT);
  const BinaryRun end = run.wait();
  EXPECT_EQ(end.exit_code, 1) << end.errors;
  EXPECT_NE(end.errors.find("cancelling"), std::string::npos) << end.errors;
  EXPECT_NE(end.output.find("cancelled"), std::string::npos) << end.output;
  EXPECT_TRUE(wait_until([&] { return !std::filesystem::exists("/proc/" + id); })) << "the command outlives the run";
}

// The file was taken for another setting.
TEST(Run, AFileMayFollowAnOptionThatMayBeRepeated) {
  const BinaryRun run = run_binary(
      {"run", "--set", "worker.report_after=5ms", "--set", "worker.report_batch_max=64", kExamples + "primes.toml"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
}

TEST(Submit, WaitsAndTellsTheEnd) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto call = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--supervisor", cluster.address()});
    return run_binary(arguments);
  };
  const Json submitted = json_of(call({"submit", kExamples + "primes.toml"}));
  EXPECT_EQ(submitted["job"], "job-1");
  EXPECT_EQ(submitted["existed"], false);
  EXPECT_EQ(json_of(call({"submit", kExamples + "primes.toml"}))["existed"], true);
  const BinaryRun waited = call({"wait", "primes"});
  EXPECT_EQ(waited.exit_code, 0) << waited.errors;
  EXPECT_EQ(json_of(waited)["state"], "succeeded");
  const Json ended = json_of(call({"job", "primes"}));
  const double late = json_of(call({"wait", "primes"}))["makespan_s"];
  EXPECT_GE(late, ended["elapsed_s"].get<double>()) << "the job's time, not that of the wait";
  const BinaryRun direct = call({"submit", kExamples + "word_count.toml", "--wait"});
  EXPECT_EQ(direct.exit_code, 0) << direct.errors;

  const ScratchDirectory scratch;
  const std::string bad =
      scratch.write("bad.toml", "name = \"bad\"\n[[subtask]]\nkey = \"a\"\ncommand = \"exit 3\"\nretries = 0\n");
  EXPECT_EQ(call({"submit", bad, "--wait"}).exit_code, 1);
  const Json job = json_of(call({"job", "bad"}));
  EXPECT_EQ(job["state"], "failed");
  EXPECT_EQ(job["failures"][0]["exit_code"], 3);
}

/// A job file with a command that succeeds and one that runs the script `step` beside it, which fails at first.
std::string job_with_a_step(const ScratchDirectory& scratch, const std::string& more = "") {
  const std::string step = scratch.write("step", "exit 3");
  return scratch.write("nightly.toml",
                       "name = \"nightly\"\nretries = 0\non_failure = \"continue\"\n"
                       "[[subtask]]\nkey = \"good\"\ncommand = \"echo made\"\n"
                       "[[subtask]]\nkey = \"bad\"\ncommand = \"sh " +
                           step + "\"\n" + more);
}

auto caller_of(const ClusterProcesses& cluster) {
  return [&cluster](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-s", cluster.address()});
    return run_binary(arguments);
  };
}

// A mended file under the old name printed the old job and ran nothing, with exit code 0.
TEST(Submit, ANameThatIsTakenIsToldInEveryForm) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const ScratchDirectory scratch;
  const auto call = caller_of(cluster);
  const std::string job = job_with_a_step(scratch);
  EXPECT_EQ(call({"submit", job, "--wait"}).exit_code, 1);
  const BinaryRun again = call({"submit", job});
  EXPECT_EQ(again.exit_code, 1) << "it had failed, and nothing was run";
  EXPECT_NE(again.output.find("existed  yes"), std::string::npos) << again.output;
  EXPECT_NE(again.errors.find("`penstock rerun job-1 --failed`"), std::string::npos) << again.errors;
  const Json waited = json_of(call({"submit", job, "--wait", "--json"}));
  EXPECT_EQ(waited["existed"], true);
  EXPECT_EQ(waited["state"], "failed");
  const BinaryRun rerun = call({"submit", job, "--rerun", "--wait", "--json"});
  EXPECT_EQ(rerun.exit_code, 1);
  EXPECT_EQ(json_of(rerun)["job"], "job-2");
  EXPECT_EQ(json_of(rerun)["existed"], false);

  const std::string mended = job_with_a_step(scratch, "[[subtask]]\nkey = \"more\"\ncommand = \"true\"\n");
  const BinaryRun refused = call({"submit", mended});
  EXPECT_EQ(refused.exit_code, 2);
  for (const char* part :
       {"job-2", "its content is", "submitted 20", "`--replace`", "'nightly-2'", "`penstock rerun job-2`"})
    EXPECT_NE(refused.errors.find(part), std::string::npos) << part << ": " << refused.errors;
  EXPECT_EQ(call({"submit", mended, "--rerun"}).exit_code, 2) << "that would run something else";
  const Json numbered = json_of(call({"submit", mended, "--new", "--json"}));
  EXPECT_EQ(numbered["name"], "nightly-2");
  EXPECT_EQ(numbered["job"], "job-3");
  const Json replaced = json_of(call({"submit", mended, "--replace", "--json"}));
  EXPECT_EQ(replaced["job"], "job-4");
  EXPECT_EQ(replaced["name"], "nightly");
  EXPECT_EQ(call({"submit", mended, "--new", "--replace"}).exit_code, 2);
}

TEST(Submit, ReplaceEndsTheFormerJobBeforeTheNewOneBegins) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const ScratchDirectory scratch;
  const std::string here = "--supervisor=" + cluster.address();
  const std::string lock = scratch.path() + "/lock";
  const auto file = [&](const std::string& command) {
    return scratch.write("job.toml", "name = \"only\"\n[[subtask]]\nkey = \"a\"\ncommand = \"" + command + "\"\n");
  };
  ASSERT_EQ(
      run_binary({"submit", file("mkdir " + lock + "; trap 'rmdir " + lock + "; exit' TERM; sleep 60 & wait"), here})
          .exit_code,
      0);
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(lock); }));
  const BinaryRun replaced = run_binary({"submit", file("mkdir " + lock), "--replace", "--wait", here});
  EXPECT_EQ(replaced.exit_code, 0) << replaced.errors;
  EXPECT_NE(run_binary({"job", "job-1", here}).output.find("cancelled"), std::string::npos);
}

TEST(Rerun, RunsWhatFailedAndHasTheResultsOfTheWhole) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const ScratchDirectory scratch;
  const auto call = caller_of(cluster);
  EXPECT_EQ(call({"submit", job_with_a_step(scratch), "--wait"}).exit_code, 1);
  scratch.write("step", "echo mended");
  const BinaryRun rerun = call({"rerun", "nightly", "--failed", "--wait", "--json"});
  ASSERT_EQ(rerun.exit_code, 0) << rerun.errors;
  const Json end = json_of(rerun);
  EXPECT_EQ(end["job"], "job-2");
  EXPECT_EQ(end["run"], 2);
  EXPECT_EQ(end["again"], 1);
  EXPECT_EQ(end["taken"], 1);
  EXPECT_EQ(call({"result", "nightly", "good"}).output, "made\n") << "of the first run";
  EXPECT_EQ(call({"result", "nightly", "bad"}).output, "mended\n");
  const Json job = json_of(call({"job", "nightly", "--json"}));
  EXPECT_EQ(job["earlier_runs"][0]["job"], "job-1");
  EXPECT_EQ(job["earlier_runs"][0]["state"], "failed");
  EXPECT_EQ(call({"rerun", "nightly", "--failed"}).exit_code, 2) << "nothing has failed";
  EXPECT_EQ(json_of(call({"rerun", "nightly", "--wait", "--json"}))["subtasks"], 2) << "all of it";
}

TEST(Submit, CtrlCEndsTheWaitingAndNotTheJob) {
  ClusterProcesses cluster;
  cluster.start_worker("w1", {"--slots", "2"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const ScratchDirectory scratch;
  const std::string job =
      scratch.write("job.toml", "name = \"long\"\n[[subtask]]\nkey = \"a\"\ncommand = \"sleep 60\"\n");
  ASSERT_EQ(run_binary({"submit", job, "-s", cluster.address()}).exit_code, 0);
  const BinaryRun impatient = run_binary({"wait", "long", "--timeout", "10ms", "-s", cluster.address()});
  EXPECT_EQ(impatient.exit_code, 2);
  EXPECT_NE(impatient.errors.find("it goes on"), std::string::npos) << impatient.errors;
  RunningBinary waiting{BinaryCall{{"wait", "long", "-s", cluster.address()}, {}, {}, {}}};
  ASSERT_TRUE(waiting.wait_for_errors("0 of 1 subtasks"));
  waiting.process().signal_group(SIGINT);
  EXPECT_EQ(waiting.wait().exit_code, 130);
  EXPECT_NE(run_binary({"jobs", "-s", cluster.address()}).output.find("running"), std::string::npos);
  EXPECT_EQ(run_binary({"cancel", "long", "--kill-after", "0s", "-s", cluster.address()}).exit_code, 0);
  EXPECT_EQ(run_binary({"wait", "long", "-s", cluster.address()}).exit_code, 1);
}

}  // namespace
}  // namespace penstock
