"""Graphs that are wrong or enormous: F21, F22."""


def refused(case, cluster, text, *expected):
    """One refusal that names all of `expected`, before anything is accepted."""
    answer = cluster.submit(text)
    case.expect(answer.returncode == 2, f"was not refused with exit code 2 but {answer.returncode}: {text}")
    for part in expected:
        case.expect(part in answer.stderr, f"the refusal does not name {part!r}: {answer.stderr}")
    case.expect(not cluster.ask("jobs", "--all"), "something of a refused graph is there")


def subtask(key, *fields):
    return "\n".join(("[[subtask]]", f"key = '{key}'", "operator = 'noop'", *fields, ""))


def cycles(case):
    """F21."""
    cluster = case.cluster(workers=1)
    chain = "".join(subtask(key, f"after = ['{after}']") for key, after in (("a", "c"), ("b", "a"), ("c", "b")))
    refused(case, cluster, "name = 'cycle'\n" + subtask("free") + chain, "circle", "a -> b -> c -> a")
    refused(case, cluster, "name = 'itself'\n" + subtask("me", "after = ['me']"), "me", "itself")
    cluster.accept("name = 'good'\n" + subtask("a"))
    case.judge(cluster, cluster.wait_for_end("good"))


def wrong_keys(case):
    """F22."""
    cluster = case.cluster(workers=1)
    refused(case, cluster, "name = 'n'\n" + subtask("a") + subtask("b", "after = ['x']"), "'x'")
    refused(case, cluster, "name = 'n'\n" + subtask("a") + subtask("a"), "'a'")
    refused(case, cluster, "name = 'n'\n" + subtask("a") + subtask("b", "inputs = ['a#7']"),  "no output '7'")
    # A dependency on what fails or is cancelled is no mistake of the graph: it ends with its reason.
    cluster.accept("name = 'failing'\n" + "[[subtask]]\nkey = 'bad'\ncommand = ['false']\nattempts = 1\n"
                   "on_failure = 'continue'\n" + subtask("after", "after = ['bad']") + subtask("free"))
    job = cluster.wait_for_end("failing")
    case.expect((job["failed"], job["cancelled"], job["succeeded"]) == (1, 1, 1), f"not one end each: {job}")
    case.expect("exited with code 1" in str(job), f"I6: the job does not tell why: {job}")
    case.judge(cluster, job)
    # Another job's keys are no keys here.
    refused_again = cluster.submit("name = 'foreign'\n" + subtask("b", "after = ['bad']"))
    case.expect(refused_again.returncode == 2 and "'bad'" in refused_again.stderr, "a foreign key was accepted")
