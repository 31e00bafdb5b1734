#include "tests/chaos/journal_maker.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/base/rng.hpp"
#include "common/protocol/graph_hash.hpp"
#include "supervisor/actors/state_directory.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::supervisor {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kSubtasks = 4;

JobSpec spec_of(std::uint32_t job) {
  JobSpec spec;
  spec.name = "made-" + std::to_string(job);
  spec.owner = "maker";
  spec.keep = Keep::Nothing;
  return spec;
}

/// One each second.
std::int64_t submitted_ms(std::uint32_t job) { return 1'800'000'000'000 + std::int64_t{job} * 1000; }

void write_job(std::uint32_t job, const JournalShape& shape, StorageBatch& batch) {
  const Graph graph = made_graph(job, shape);
  const JobId id{job};
  write_record(record::JobAccepted{id, spec_of(job), &graph, submitted_ms(job)}, 0, batch);
  if (job % 4 == 0) {
    record::JobEnded over{id, spec_of(job), {}};
    over.submitted_ms = submitted_ms(job);
    over.ended_ms = submitted_ms(job) + 500;
    over.everything.job = id;
    over.everything.state = JobState::Succeeded;
    over.everything.counts.total = over.everything.counts.succeeded = kSubtasks;
    over.everything.succeeded = {{SubtaskIndex{0}, SubtaskIndex{kSubtasks - 1}}};
    write_record(over, 0, batch);
  } else if (job % 4 == 1) {
    record::SubtasksEnded ended;
    ended.job = id;
    ended.counts.total = kSubtasks;
    ended.counts.succeeded = 1;
    ended.succeeded = {{SubtaskIndex{0}, SubtaskIndex{0}}};
    write_record(ended, job, batch);
  } else if (job % 4 == 2) {
    write_record(record::SubtaskChanged{id, SubtaskIndex{1}, 1, 1, 0, 1, {"attempt 1"}, {}, false}, 0, batch);
  }
}

Result<void> write_jobs(const std::string& directory, std::uint32_t first, std::uint32_t last,
                        const JournalShape& shape) {
  Result<std::unique_ptr<Storage>> storage = RocksdbStorage::open(journal_options(directory));
  if (!storage) return storage.error();
  const Result<Recovered> recovered = recover(**storage, Damage::Refuse);
  if (!recovered) return recovered.error();
  PENSTOCK_TRY(begin_life(**storage, *recovered, 77));
  for (std::uint32_t job = first; job <= last; ++job) {
    StorageBatch batch;
    write_job(job, shape, batch);
    PENSTOCK_TRY((*storage)->commit(batch, job == last ? Sync::Yes : Sync::No));
  }
  return (*storage)->close();
}

}  // namespace

Graph made_graph(std::uint32_t job, const JournalShape& shape) {
  Rng rng{job};
  // The operator reads the first words: nothing to do, nothing to make.
  std::vector<std::string> payloads(kSubtasks, std::string(16, '\0'));
  for (std::string& payload : payloads)
    while (payload.size() < shape.job_bytes / kSubtasks) {
      const std::uint64_t bytes = rng.next();
      payload.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    }
  GraphBuilder builder;
  builder.template_at(0).program = "noop";
  return builder.sources(kSubtasks).payloads(std::move(payloads)).build();
}

std::string lines_of(const RecoveredState& state) {
  std::ostringstream lines;
  for (const RecoveredJob& job : state.jobs) {
    lines << to_string(job.id) << ' ' << job.spec.name << (job.is_over ? " is over" : " goes on");
    lines << ' ' << (job.is_over ? job.everything.counts.succeeded : job.ended.counts.succeeded);
    for (const record::SubtaskChanged& change : job.changes) lines << " change of " << change.subtask.value();
    const auto graph = std::find_if(state.graphs.begin(), state.graphs.end(),
                                    [&](const RecoveredGraph& each) { return each.brought_by == job.graph; });
    if (!job.is_over && graph == state.graphs.end()) lines << " without a graph";
    if (graph != state.graphs.end())
      for (const Graph& chunk : graph->chunks) lines << ' ' << to_string(content_hash(chunk));
    lines << '\n';
  }
  return lines.str();
}

Result<void> make_journal(const std::string& directory, const JournalShape& shape) {
  // The log that an earlier run has left becomes a sorted file when the next run begins.
  PENSTOCK_TRY(write_jobs(directory, 1, shape.jobs / 2, shape));
  return write_jobs(directory, shape.jobs / 2 + 1, shape.jobs, shape);
}

std::vector<fs::path> files_of(const std::string& journal) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator{journal})
    if (const std::string name = entry.path().filename(); !name.starts_with("LOG") && name != "LOCK" && name != "OWNER")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string strike(const std::vector<fs::path>& files, std::uint64_t seed) {
  Rng rng{seed};
  const fs::path& path = files[rng.below(files.size())];
  const std::uint64_t size = fs::file_size(path);
  const std::uint64_t kind = size == 0 ? 0 : rng.below(5);
  const std::uint64_t at = size == 0 ? 0 : rng.below(size);
  const std::string where =
      " " + path.filename().string() + " at " + std::to_string(at) + " of " + std::to_string(size);
  if (kind == 0) return fs::remove(path), "removed" + where;
  if (kind == 1) return fs::resize_file(path, at), "cut" + where;
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  if (kind == 2) return file.put(static_cast<char>(byte ^ (1 << rng.below(8)))), "flipped a bit of" + where;
  std::string bytes(std::min<std::uint64_t>(size - at, 1 + rng.below(4096)), '\0');
  if (kind == 4)
    for (char& each : bytes) each = static_cast<char>(rng.below(256));
  file << bytes;
  return (kind == 3 ? "zeroed " : "overwrote ") + std::to_string(bytes.size()) + " bytes of" + where;
}

}  // namespace penstock::supervisor
