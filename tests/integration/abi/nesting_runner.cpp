// A runner with runs that submit runs of the same program: `fibonacci N`, and `leave N`, which does not wait for them.
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>

#include "client/include/penstock/client.hpp"

namespace {

using penstock::engine::Client;
using penstock::engine::Expected;
using penstock::engine::GraphBuilder;
using penstock::engine::Handle;
using penstock::engine::Job;

std::string program;

int number_in(const std::string& text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int fail(penstock_runner* runner, const std::string& why) {
  return penstock_runner_fail(runner, why.c_str(), nullptr, 0);
}

Handle<std::string> add(GraphBuilder& graph, const std::string& payload) {
  return graph.add_as(graph.runner<std::string>({program}), {.payload = payload});
}

Expected<std::string> sum_of_parts(penstock_runner* runner, Client& client, int n) {
  GraphBuilder graph;
  const auto one = add(graph, "fibonacci " + std::to_string(n - 1));
  const auto two = add(graph, "fibonacci " + std::to_string(n - 2));
  const Expected<Job> job = client.submit(std::move(graph));
  if (!job) return job.failure();
  if (penstock_runner_yield_slot(runner) != 0) return penstock::engine::last_failure();
  const Expected<std::string> first = job.value().result(one);
  const Expected<std::string> second = job.value().result(two);
  while (penstock_runner_take_slot_back(runner) == -2) {
  }
  if (!first) return first.failure();
  if (!second) return second.failure();
  return std::to_string(number_in(first.value()) + number_in(second.value()));
}

int run_one(penstock_runner* runner, std::unique_ptr<Client>& client, const std::string& what) {
  const int n = number_in(what.substr(what.find(' ') + 1));
  if (client == nullptr) {
    Expected<Client> opened = Client::in_run();
    if (!opened) return fail(runner, opened.failure().text());
    client = std::make_unique<Client>(std::move(opened).value());
  }
  if (what.starts_with("leave")) {
    for (const bool detached : {false, true}) {
      GraphBuilder graph;
      add(graph, detached ? "fibonacci 1" : "wait 0");
      if (const Expected<Job> job =
              client->submit(std::move(graph), {.name = detached ? "detached" : "", .detached = detached});
          !job)
        return fail(runner, job.failure().text());
    }
    return penstock_runner_succeed_with(runner, "left", 4);
  }
  if (what.starts_with("wait")) return fail(runner, "was run, though its parent had ended");
  if (n < 2) return penstock_runner_succeed_with(runner, std::to_string(n).data(), 1);
  const Expected<std::string> sum = sum_of_parts(runner, *client, n);
  if (!sum) return fail(runner, sum.failure().text());
  return penstock_runner_succeed_with(runner, sum.value().data(), sum.value().size());
}

/// As a command of a job, `nesting_runner fibonacci N`: a job of its own, and its result.
int submit_in_run(const std::string& payload) {
  Expected<Client> client = Client::in_run();
  if (!client) return std::fprintf(stderr, "%s\n", client.failure().text().c_str()), 2;
  GraphBuilder graph;
  const auto handle = add(graph, payload);
  const Expected<Job> job = client.value().submit(std::move(graph));
  if (!job) return std::fprintf(stderr, "%s\n", job.failure().text().c_str()), 3;
  const Expected<std::string> told = job.value().result(handle);
  if (!told) return std::fprintf(stderr, "%s\n", told.failure().text().c_str()), 4;
  return std::printf("%s\n", told.value().c_str()), 0;
}

}  // namespace

int main(int count, char** arguments) {
  program = arguments[0];
  if (count > 2) return submit_in_run(std::string{arguments[1]} + " " + arguments[2]);
  penstock_runner* runner = penstock_runner_open(0, "nesting", "1");
  if (runner == nullptr) return 2;
  std::unique_ptr<Client> client;
  penstock_run run{};
  run.size = sizeof run;
  for (int answer = 0; (answer = penstock_runner_next(runner, &run)) != 0;) {
    if (answer == -1) return 3;
    if (answer == 1) run_one(runner, client, std::string{static_cast<const char*>(run.payload.data), run.payload.size});
  }
  client.reset();
  penstock_runner_close(runner);
  return 0;
}
