#include "cli/commands/secret_sources.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/host/process.hpp"

namespace penstock::cli {
namespace {

constexpr std::string_view kFile = "file:";
constexpr std::string_view kCommand = "command:";

Error refused(const std::string& name, std::string message, std::string remedy = {}) {
  return {ErrorCode::InvalidArgument, "secret '" + name + "'", std::move(message), std::move(remedy)};
}

/// The content, or its beginning, which is too long then.
std::string read_all(std::FILE* stream) {
  std::string text(kSecretBytesMax + 2, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), stream));
  return text;
}

Result<std::string> content_of(const std::string& name, const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "re"), std::fclose};
  if (file == nullptr) return refused(name, "cannot be read from " + path + ": " + std::strerror(errno));
  std::string text = read_all(file.get());
  if (std::ferror(file.get()) != 0) return refused(name, "cannot be read from " + path);
  return text;
}

Result<std::string> output_of(const std::string& name, const std::string& command) {
  Result<Pipe> pipe = open_pipe();
  if (!pipe) return std::move(pipe).error();
  ProcessStart start;
  start.program = "/bin/sh";
  start.arguments = {"-c", command};
  start.environment = own_environment();
  start.input = STDIN_FILENO;  // The command may ask for a password.
  start.output = pipe->write.get();
  start.error = STDERR_FILENO;
  const Result<Process> process = Process::start(start);
  if (!process) return process.error();
  pipe->write.close();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{::fdopen(::dup(pipe->read.get()), "re"), std::fclose};
  std::string text = read_all(output.get());
  pipe->read.close();
  ProcessEnd end;
  while (!process->try_reap(end)) process->wait_for_end(std::chrono::hours{1});
  if (end.exit_code != 0)
    return refused(name, "its command has failed (exit code " + std::to_string(end.exit_code) + ")",
                   "run it by hand: " + command);
  return text;
}

}  // namespace

Result<SecretSource> parse_secret_source(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || !is_variable_name(text.substr(0, equals)))
    return Error{ErrorCode::InvalidArgument, text.substr(0, std::min(equals, text.size())), "is no secret",
                 "write NAME=file:PATH or NAME=command:TEXT"};
  return SecretSource{text.substr(0, equals), text.substr(equals + 1)};
}

Result<std::vector<Secret>> read_secrets(const std::vector<SecretSource>& sources) {
  std::vector<Secret> secrets;
  for (const auto& [name, source] : sources) {
    Result<std::string> value = source.starts_with(kFile) ? content_of(name, source.substr(kFile.size()))
                                : source.starts_with(kCommand)
                                    ? output_of(name, source.substr(kCommand.size()))
                                    : refused(name, "comes neither from a file nor from a command",
                                              "write \"file:PATH\" or \"command:TEXT\": a value would be read along");
    if (!value) return std::move(value).error();
    if (!value->empty() && value->back() == '\n') value->pop_back();
    secrets.push_back({name, std::move(value).value()});
  }
  PENSTOCK_TRY(check_secrets(secrets));
  return secrets;
}

}  // namespace penstock::cli
