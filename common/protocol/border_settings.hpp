// The settings of the border: certificates, the audit, and the accounts of programs. The table begins in settings.hpp.
#pragma once

#include "common/protocol/border_config.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/metrics_config.hpp"

namespace penstock {

/// Describes one setting to a reader of configuration, to `penstock config` and to the manual.
struct SettingText {
  const char* name;   ///< As in `penstock.toml`.
  const char* unit;
  const char* meaning;  ///< One sentence, with what happens at the limit.
};

template <class Visit>
void visit_settings(SecurityConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"certificate_life", "duration", "certificates of workers and users end after this; they are renewed at half of it"},
        c.certificate_life, Duration{seconds{10}}, Duration{hours{24 * 365}});
  visit({"handshake_threads", "threads", "handshakes of new connections are computed on so many threads"}, c.handshake_threads, std::uint32_t{1}, std::uint32_t{256});
  visit({"handshakes_max", "connections", "handshakes that wait for those threads; further connections are closed at once"},
        c.handshakes_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"tokens_max", "tokens", "tokens that are neither used nor out of date; further ones are refused"}, c.tokens_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"munge", "", "whether users of hosts with the same key of MUNGE log in as clients without a token, by `penstock token create --munge`"}, c.munge, false, true);
}

template <class Visit>
void visit_settings(AuditConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"file_bytes_max", "bytes", "a file of the audit with as many bytes is followed by another one"},
        c.file_bytes_max, std::uint64_t{4096}, std::uint64_t{1} << 32U);
  visit({"keep_files", "files", "files of the audit beyond these are removed, and a record says so. 0: all are kept"},
        c.keep_files, std::uint32_t{0}, std::uint32_t{999'999});
  visit({"refusals_every", "duration", "refusals of an address and user are one record for so long, behind the first"},
        c.refusals_every, Duration{milliseconds{10}}, Duration{hours{24}});
  visit({"addresses_max", "addresses", "addresses and users with such records of their own; more share one record"},
        c.addresses_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"waiting_max", "records", "records that wait for a disk that cannot be written; later ones are only counted"},
        c.waiting_max, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"open_max", "orders", "orders and submits that wait for answers; later ones are recorded without theirs"},
        c.open_max, std::uint32_t{1}, std::uint32_t{1U << 24U});
  visit({"syslog", "", "whether each record goes to the log of the system, too, as authpriv"}, c.syslog, false, true);
}

template <class Visit>
void visit_settings(MetricsConfig& c, Visit&& visit) {
  using namespace std::chrono;
  visit({"supervisor_listen", "address", "a supervisor serves `/metrics` and `/healthz` there, over TLS unless it runs with `--insecure`; empty: nowhere"},
        c.supervisor_listen, std::string{}, std::string{});
  visit({"worker_listen", "address", "the same of a worker; port 0 takes a free one, which the log names"},
        c.worker_listen, std::string{}, std::string{});
  visit({"connections_max", "connections", "connections there; for a further one the oldest that has not asked yet is closed, or else the new one"},
        c.connections_max, std::uint32_t{1}, std::uint32_t{65536});
  visit({"header_bytes_max", "bytes", "the head of a request; a longer one is answered with 431"}, c.header_bytes_max, std::uint32_t{256}, std::uint32_t{1U << 20U});
  visit({"request_timeout", "duration", "a connection is closed when its handshake and the head of its request take longer"},
        c.request_timeout, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"response_timeout", "duration", "a connection is closed when it does not take its answer in so long"},
        c.response_timeout, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"idle_timeout", "duration", "a connection without a request is closed after this"}, c.idle_timeout, Duration{milliseconds{10}}, Duration{hours{24}});
  visit({"answer_timeout", "duration", "the process is unhealthy, and a scrape is answered with 503, when its loop does not give the numbers in so long"},
        c.answer_timeout, Duration{milliseconds{10}}, Duration{hours{1}});
  visit({"sample_every", "duration", "numbers are asked for at most this often; scrapes in between get the last ones"}, c.sample_every, Duration{0}, Duration{hours{1}});
  visit({"jobs_max", "jobs", "active jobs that a scrape looks at, the most important first; the others are only counted"},
        c.jobs_max, std::uint32_t{0}, std::uint32_t{1U << 24U});
}

template <class Visit>
void visit_settings(UserLimits& c, Visit&& visit) {
  visit({"jobs_max", "jobs", "jobs of one user that have not ended, those that runs submit included; more are refused"},
        c.jobs_max, std::uint32_t{1}, std::uint32_t{1U << 30U});
  visit(
      {"submissions_max", "submissions",
       "graphs that all clients of one user submit at the same time; more are refused, and sent again by the clients"},
      c.submissions_max, std::uint32_t{1}, std::uint32_t{1U << 20U});
  visit({"submissions_bytes_max", "bytes",
         "memory of those graphs, until they are jobs; beyond it the largest of the user is refused"},
        c.submissions_bytes_max, kMiB, kGiB * (1 << 20));
  visit({"requests_per_second", "requests/s",
         "submits, orders, questions and attachments of one user with the role client, in the long run; more are "
         "refused, and sent again by the clients. 0: no limit"},
        c.requests_per_second, std::uint32_t{0}, std::uint32_t{1'000'000});
  visit(
      {"requests_burst", "requests", "requests of a user that was idle that are taken at once, whatever that rate is"},
      c.requests_burst, std::uint32_t{1}, std::uint32_t{1U << 24U});
}

template <class Visit>
void visit_user_settings(WorkerConfig& c, Visit& visit) {
  visit({"run_as", "word", "account of a job's programs: \"submitter\", that of the user whose job it is, which takes a worker that runs as root; or \"worker\", its own, for containers that do not know the users"},
        c.run_as, RunAs::Worker, RunAs::Submitter);
  visit({"users_uid_min", "", "a worker that runs as root starts programs of users from this number on; smaller ones, of the system, are refused unless `accept_users` lists them"},
        c.users_uid_min, std::uint32_t{1}, std::uint32_t{1U << 31U});
}

}  // namespace penstock
