// Every message that a peer can send to a supervisor, about any job: generated from the unions and from the sources.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/protocol/client.hpp"
#include "common/protocol/identity.hpp"
#include "common/protocol/report.hpp"

namespace penstock {

/// A job, as messages name it. The identity of a job of which the sender was told nothing is a guess.
struct Subject {
  JobId id;
  std::string name;
  JobIdentity identity{0x6775657373, 1};
};

/// The commands that a supervisor carries out, and those that the table of rights names, by their sources.
std::set<std::string> commands_of_sources();

/// Every message of a client about the job: each alternative of the union, each command, in every way to name a job.
std::vector<FromClient> every_client_message(const Subject& job);
/// Every message of a worker about the first attempt of the job's first subtask, which another worker runs. `other` is
/// the name of that worker.
std::vector<FromWorker> every_worker_message(const Subject& job, const std::string& other);

/// The manual's word (docs/security.md, Roles): may the holder of a certificate of that role send the message? Told
/// apart from the product's own table, so that each checks the other.
bool manual_allows(Role role, const FromClient& message);

/// For people: the command, or the place in the union.
std::string name_of(const FromClient& message);
/// False: nobody waits for an answer to the message.
bool is_answered(const FromClient& message);
/// The message with that number, by which its answer is found.
FromClient numbered(FromClient message, std::uint64_t number);
/// The answer with that number, as text; empty: there is none yet. All mentions of the job become the same words, so
/// that answers about two jobs can be compared.
std::string answer_to(const std::vector<ToClient>& told, std::uint64_t number, const Subject& job);

}  // namespace penstock
