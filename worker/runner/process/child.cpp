#include "worker/runner/process/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/wire/codec_runner.hpp"
#include "worker/runner/command/command_line.hpp"

namespace penstock::worker {
namespace {

constexpr std::size_t kReadBytes = 16 << 10;
constexpr std::size_t kLineBytesMax = 4096;  ///< A longer line is logged in pieces.

Result<void> check_texts(const Template& program) {
  bool cut = has_nul(program.program) || has_nul(program.working_directory);
  for (const std::string& argument : program.arguments) cut = cut || has_nul(argument);
  for (const std::string& entry : program.environment) {
    cut = cut || has_nul(entry);
    if (entry.find('=') == std::string::npos || entry.front() == '=')
      return Error{ErrorCode::InvalidArgument, entry, "is no environment entry", "use NAME=value"};
  }
  if (!cut) return {};
  return Error{
      ErrorCode::InvalidArgument, program.program, "has a NUL in its program, arguments, environment or directory", {}};
}

Result<std::string> find_for(const AccountPtr& account, const Template& program, const std::string& search_path) {
  std::optional<FilesAs> as;
  if (account != nullptr) as.emplace(*account);
  return find_program(program.program, search_path, program.working_directory);
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(const Template& program, const ChildOptions& options) {
  PENSTOCK_TRY(check_texts(program));
  ProcessStart start;
  start.name = program.program;
  start.environment = options.environment;
  set_variables(start.environment, program.environment);
  const std::string path = variable_of(start.environment, "PATH", "/usr/local/bin:/usr/bin:/bin");
  Result<std::string> found = find_for(options.account, program, path);
  if (!found) return std::move(found).error();
  start.program = std::move(found).value();
  start.arguments = program.arguments;
  start.directory = program.working_directory;
  if (options.account != nullptr) PENSTOCK_TRY(start_as(start, *options.account));
  Result<SocketPair> sockets = open_socket_pair();
  if (!sockets) return std::move(sockets).error();
  Result<Pipe> output = open_pipe();
  if (!output) return std::move(output).error();
  start.input = sockets->theirs.get();
  start.output = start.error = output->write.get();
  Result<Process> process = Process::start(start);
  if (!process) return std::move(process).error();
  process->bind(options.processors);
  set_non_blocking(output->read);
  return std::unique_ptr<Child>{new Child{std::move(process).value(),
                                          RunnerChannel{std::move(sockets->ours), options.message_bytes_max},
                                          std::move(output->read), options}};
}

Child::Child(Process process, RunnerChannel channel, Descriptor output, const ChildOptions& options)
    : process_(std::move(process)),
      channel_(std::move(channel)),
      output_(std::move(output)),
      tail_(options.tail_bytes),
      log_{options.logs, {}, {}, {}} {}

Child::~Child() {
  if (!leaves_until_) kill();
  bury();
}

void Child::interrupt() const {
  const std::lock_guard lock{mutex_};
  if (buried_) return;
  process_.signal_group(SIGINT);
  process_.signal_group(SIGCONT);  // A stopped process receives no signal before SIGCONT.
}

void Child::kill() const {
  const std::lock_guard lock{mutex_};
  if (!buried_) process_.signal_group(SIGKILL);
}

void Child::let_go(Duration grace) {
  {
    const std::lock_guard lock{mutex_};
    if (buried_ || leaves_until_) return;
    if (runs > 0) {
      leaves_until_ = monotonic_now() + grace;
      ::shutdown(channel_.descriptor().get(), SHUT_RDWR);
      return;
    }
  }
  kill();
}

// Takes in its output meanwhile: a full pipe would block it.
bool Child::wait_for_end(Instant late) {
  while (!process_.wait_for_end(Duration{0})) {
    const Instant now = monotonic_now();
    if (now >= late) return false;
    std::array<pollfd, 2> wanted{pollfd{output_.get(), POLLIN, 0}, pollfd{process_.end_descriptor().get(), POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(late - now).count();
    const int ready =
        ::poll(wanted.data(), wanted.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0 && wanted[0].revents != 0) read_output();
  }
  return true;
}

void Child::wait(Duration limit, int bell) {
  std::array<pollfd, 4> wanted{pollfd{channel_.descriptor().get(), POLLIN, 0}, pollfd{output_.get(), POLLIN, 0},
                               pollfd{process_.end_descriptor().get(), POLLIN, 0}, pollfd{bell, POLLIN, 0}};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  const int ready =
      ::poll(wanted.data(), wanted.size(), static_cast<int>(std::clamp<std::int64_t>(milliseconds, 0, 1 << 30)));
  if (ready > 0 && wanted[1].revents != 0) read_output();
}

void Child::read_output() {
  if (!output_) return;
  std::array<char, kReadBytes> bytes;
  for (;;) {
    const ssize_t size = ::read(output_.get(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return output_.close();
    const std::string_view text{bytes.data(), static_cast<std::size_t>(size)};
    tail_.add(text);
    log_lines(text);
    if (text.size() < bytes.size()) return;
  }
}

void Child::log_lines(std::string_view text) {
  for (const char c : text) {
    if (c != '\n' && log_.line.size() < kLineBytesMax) {
      log_.line += c;
      continue;
    }
    end_line();
    if (c != '\n') log_.line += c;
  }
}

void Child::end_line() {
  log_line(LogLevel::Info, "runner", "pid=" + std::to_string(process_.id()) + " text=\"" + log_.line + "\"");
  if (log_.jobs != nullptr && log_.subtask.job.valid()) log_.jobs->add(log_.subtask, log_.attempt, log_.line);
  log_.line.clear();
}

void Child::end_lines() {
  read_output();
  if (!log_.line.empty()) end_line();
}

Result<std::optional<FromRunner>> Child::receive() {
  Result<std::optional<RunnerChannel::Message>> message = channel_.receive(RunnerChannel::Wait::No);
  if (!message) return std::move(message).error();
  if (!message->has_value() && process_.wait_for_end(Duration{0})) {
    // Its children may hold its end of the socket for any time.
    message = channel_.receive(RunnerChannel::Wait::No);
    if (message && !message->has_value())
      return Error{ErrorCode::Disconnected, "runner", "has ended, and others hold its socket", {}};
    if (!message) return std::move(message).error();
  }
  if (!message->has_value()) return std::optional<FromRunner>{};
  segments_ = std::move((*message)->descriptors);
  Result<FromRunner> decoded = decode_from_runner((*message)->bytes, segments_.size());
  if (!decoded) return std::move(decoded).error();
  return std::optional<FromRunner>{std::move(decoded).value()};
}

bool Child::can_be_heard() const {
  if (channel_.has_read_ahead()) return true;
  pollfd wanted{channel_.descriptor().get(), POLLIN, 0};
  return ::poll(&wanted, 1, 0) != 0;
}

Result<void> Child::send(const ToRunner& message, std::span<const int> descriptors) {
  return channel_.send(encode_runner(message), descriptors);
}

ChildMemory Child::memory() const {
  const std::lock_guard lock{mutex_};
  if (buried_) return {};
  const std::string path = "/proc/" + std::to_string(process_.id()) + "/statm";
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::array<char, 128> text;
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return {};
  std::array<std::int64_t, 3> pages{};  // All, resident, and of these shared.
  const char* at = text.data();
  for (std::int64_t& number : pages) {
    at = std::from_chars(at, text.data() + size, number).ptr;
    at += at < text.data() + size ? 1 : 0;
  }
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return {pages[1] * page, std::max<std::int64_t>(pages[1] - pages[2], 0) * page};
}

ProcessEnd Child::bury() {
  if (buried_) return end_;
  // A child that has closed its socket is about to end by itself, and its own exit code says more than our signal.
  if (!wait_for_end(leaves_until_.value_or(monotonic_now() + std::chrono::seconds{1}))) kill();
  // A killed process ends unless the kernel is stuck in it; then nothing more can be done.
  for (int tries = 0; !process_.wait_for_end(std::chrono::seconds{1}) && tries < 5; ++tries) {
  }
  // The rest of its group; the group's number is not used again until the process is reaped.
  process_.signal_group(SIGKILL);
  end_lines();
  const std::lock_guard lock{mutex_};
  process_.try_reap(end_);
  buried_ = true;
  return end_;
}

std::string Child::take_tail() {
  read_output();
  return tail_.take();
}

}  // namespace penstock::worker
