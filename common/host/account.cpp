#include "common/host/account.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/base/check.hpp"

namespace penstock {
namespace {

constexpr int kGroupsMax = 65536;  // Of the kernel.

// The wrapper of the C library would change all threads.
void set_own_groups(const std::vector<gid_t>& groups) {
  PENSTOCK_CHECK(::syscall(SYS_setgroups, groups.size(), groups.data()) == 0);
}

}  // namespace

Result<Account> find_account(const std::string& name) {
  std::array<char, 16384> texts{};
  passwd entry{};
  passwd* found = nullptr;
  const int failure = ::getpwnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found);
  const bool absent = failure == 0 || failure == ENOENT || failure == ESRCH || failure == EBADF || failure == EPERM;
  if (found == nullptr && absent)
    return Error{ErrorCode::NotFound, "user '" + name + "'", "has no account on this host", "create it there"};
  if (found == nullptr)
    return Error{ErrorCode::Unreachable,
                 "user '" + name + "'",
                 std::string{"cannot be looked up on this host: "} + std::strerror(failure),
                 {}};
  Account account{found->pw_name, found->pw_uid, found->pw_gid, {}, found->pw_dir, found->pw_shell};
  int count = 64;
  account.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(account.name.c_str(), account.gid, account.groups.data(), &count) < 0 && count < kGroupsMax)
    account.groups.resize(static_cast<std::size_t>(count));
  account.groups.resize(static_cast<std::size_t>(count));
  return account;
}

Result<std::string> user_name_of(uid_t uid) {
  std::array<char, 16384> texts{};
  passwd entry{};
  passwd* found = nullptr;
  const int failure = ::getpwuid_r(uid, &entry, texts.data(), texts.size(), &found);
  if (found != nullptr) return std::string{found->pw_name};
  const std::string subject = "user number " + std::to_string(uid);
  if (failure == 0 || failure == ENOENT || failure == ESRCH)
    return Error{ErrorCode::NotFound, subject, "has no account on this host", "create it there"};
  return Error{ErrorCode::Unreachable, subject, std::string{"cannot be looked up: "} + std::strerror(failure), {}};
}

FilesAs::FilesAs(const Account& account) {
  groups_.resize(static_cast<std::size_t>(::getgroups(0, nullptr)));
  PENSTOCK_CHECK(::getgroups(static_cast<int>(groups_.size()), groups_.data()) >= 0);
  set_own_groups(account.groups);
  ::setfsgid(account.gid);
  ::setfsuid(account.uid);
  PENSTOCK_CHECK(::setfsuid(static_cast<uid_t>(-1)) == static_cast<int>(account.uid));
}

FilesAs::~FilesAs() {
  ::setfsuid(::geteuid());
  ::setfsgid(::getegid());
  set_own_groups(groups_);
}

}  // namespace penstock
