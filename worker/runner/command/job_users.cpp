#include "worker/runner/command/job_users.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/host/host.hpp"
#include "common/protocol/secrets.hpp"
#include "worker/runner/command/command_line.hpp"

namespace penstock::worker {
namespace {

constexpr Duration kRemembered = std::chrono::minutes{1};
constexpr std::size_t kRememberedMax = 4096;

// Runs with the rights of the account, and without a variable of the job until it has read them. 126: as a shell has
// it.
constexpr const char* kBecomeProgram =
    "cd -- \"$0\" || exit 126; . /proc/self/fd/3 || exit 126; exec 3<&-; exec \"$@\"";

/// `export NAME='VALUE'` for each.
Result<std::string> as_script(const std::vector<std::string>& environment) {
  std::string script;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (equals == std::string::npos || !is_variable_name(name))
      return Error{ErrorCode::InvalidArgument, "variable '" + name + "'",
                   "cannot be given to a program under another account", "name it by letters, digits and _"};
    script += "export " + name + "='";
    for (const char c : entry.substr(equals + 1)) c == '\'' ? script += "'\\''" : script += c;
    script += "'\n";
  }
  return script;
}

Result<Descriptor> in_memory(const std::string& text) {
  const auto failed = [] {
    return Error{ErrorCode::ResourceExhausted,
                 "the variables of a program",
                 std::string{"find no memory: "} + std::strerror(errno),
                 {}};
  };
  Descriptor file{::memfd_create("penstock-variables", MFD_CLOEXEC)};
  if (!file) return failed();
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
    if (written <= 0) return failed();
    done += static_cast<std::size_t>(written);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string joined(const std::vector<gid_t>& groups) {
  std::string text;
  for (const gid_t group : groups) text += (text.empty() ? "" : ",") + std::to_string(group);
  return text;
}

}  // namespace

Result<AccountPtr> JobUsers::account_of(const std::string& user, Instant now) {
  std::optional<std::uint32_t> uid;
  AccountPtr account;
  if (rules_.known && rules_.switches && !user.empty()) {
    Result<AccountPtr> found = look_up(user, now);
    if (!found) return found;
    account = std::move(found).value();
    if (account != nullptr) uid = account->uid;
  }
  const Result<RunAs> as = account_for(rules_, user, supervisor_user_(), uid);
  if (!as) return as.error();
  return *as == RunAs::Submitter ? account : nullptr;
}

Result<AccountPtr> JobUsers::look_up(const std::string& user, Instant now) {
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = known_.find(user); found != known_.end() && now < found->second.until)
      return found->second.account;
  }
  Result<Account> found = find_account(user);
  if (!found && found.error().code != ErrorCode::NotFound) return std::move(found).error();
  Known known{found ? std::make_shared<const Account>(std::move(found).value()) : nullptr, later(now, kRemembered)};
  const std::lock_guard lock{mutex_};
  if (known_.size() >= kRememberedMax) known_.clear();
  return (known_[user] = std::move(known)).account;
}

// In a directory of another user root reaches files with the rights of that user: a link that the user puts there would
// lead anywhere.
Result<void> JobUsers::keep(const std::string& user, const std::string& place, const std::string& content,
                            Instant now) {
  const Result<AccountPtr> account = account_of(user, now);
  if (!account) return account.error();
  if (*account == nullptr) return {};  // Its programs have the worker's own credential.
  const Result<std::string> directory = directory_for(**account);
  if (!directory) return directory.error();
  const FilesAs as{**account};
  const std::filesystem::path file = std::filesystem::path{*directory} / place;
  const std::string draft = file.string() + ".new";
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  ::unlink(draft.c_str());
  const Descriptor written{::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (written && ::write(written.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      ::rename(draft.c_str(), file.c_str()) == 0)
    return {};
  return Error{ErrorCode::StorageFull, file.string(), std::string{"cannot be written: "} + std::strerror(errno), {}};
}

Result<std::string> JobUsers::directory_for(const Account& account) {
  const std::lock_guard lock{mutex_};
  if (const auto known = credentials_.find(account.uid); known != credentials_.end()) return known->second;
  Result<std::string> all = directory_.path();
  if (!all) return all;
  std::string own = *all + "/" + std::to_string(account.uid);
  const bool made = ::chmod(all->c_str(), 0711) == 0 && (::mkdir(own.c_str(), 0700) == 0 || errno == EEXIST) &&
                    ::lchown(own.c_str(), account.uid, account.gid) == 0;
  if (!made) return Error{ErrorCode::StorageFull, own, std::string{"cannot be made: "} + std::strerror(errno), {}};
  credentials_[account.uid] = own;
  return own;
}

std::string JobUsers::credentials_of(const Account& account) const {
  const std::lock_guard lock{mutex_};
  const auto found = credentials_.find(account.uid);
  return found == credentials_.end() ? std::string{} : found->second;
}

std::vector<std::string> environment_of(const Account& account, const JobUsers* users) {
  std::vector<std::string> environment{"HOME=" + account.home, "USER=" + account.name, "LOGNAME=" + account.name,
                                       "SHELL=" + (account.shell.empty() ? "/bin/sh" : account.shell),
                                       "PATH=/usr/local/bin:/usr/bin:/bin"};
  for (const char* name : {"LANG", "LC_ALL", "TZ"})
    if (const std::string value = environment_value(name); !value.empty())
      environment.push_back(std::string{name} + "=" + value);
  const std::string credentials = users == nullptr ? std::string{} : users->credentials_of(account);
  if (!credentials.empty()) environment.push_back("PENSTOCK_RUN_CREDENTIALS=" + credentials);
  return environment;
}

// Every variable reaches the program by the shell, which has lost the worker's rights by then: as a variable of
// `setpriv` LD_PRELOAD would run code of the job as root.
Result<void> start_as(ProcessStart& start, const Account& account) {
  Result<std::string> script = as_script(start.environment);
  if (!script) return std::move(script).error();
  Result<Descriptor> variables = in_memory(*script);
  if (!variables) return std::move(variables).error();
  const bool has_home = ::access(account.home.c_str(), F_OK) == 0;  // `nobody` has none.
  const std::string home = has_home ? account.home : "/";
  std::string directory = start.directory.empty() ? home : start.directory;
  if (directory.front() != '/') directory = home + "/" + directory;
  std::vector<std::string> arguments{"--reuid=" + std::to_string(account.uid),
                                     "--regid=" + std::to_string(account.gid),
                                     "--groups=" + joined(account.groups),
                                     "--inh-caps=-all",
                                     "--ambient-caps=-all",
                                     "/bin/sh",
                                     "-c",
                                     kBecomeProgram,
                                     directory,
                                     start.program};
  for (std::string& argument : start.arguments) arguments.push_back(std::move(argument));
  start.arguments = std::move(arguments);
  start.program = "/usr/bin/setpriv";
  start.name = "setpriv";
  start.environment = {"PATH=/usr/bin:/bin"};
  start.directory = "/";
  start.further = std::move(variables).value();
  return {};
}

}  // namespace penstock::worker
