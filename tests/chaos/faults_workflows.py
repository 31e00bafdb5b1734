"""One of four workers is killed in the middle of each recorded workflow."""
import collections
import glob
import json
import os

from cluster import wait_for
from case import Skipped
from faults_disk import beside
from faults_storms import Client

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/workflows")


def one_of_four(case):
    """W01: every datum is what an undisturbed run makes, and at most that runs again which the killed worker held."""
    files = sorted(glob.glob(os.path.join(FOLDER, "*.json")))
    if not files:
        raise Skipped("there is no ../shared/workflows beside this checkout")
    again = held_by_killed = 0
    for file in files if case.full else files[:3]:
        extra, held = kill_in(case, file, millionths_for(file, 10 if case.full else 3))
        case.figure(os.path.basename(file).split("-")[0] + ": run again", extra, "subtasks", at_most=held)
        again, held_by_killed = again + extra, held_by_killed + held
    case.figure("all: run again", again, f"of {held_by_killed} that the killed ones held")


def millionths_for(file, seconds):
    """The scale at which four slots need about so long for the recorded work."""
    with open(file, encoding="utf-8") as opened:
        workflow = json.load(opened)["workflow"]
    calls = workflow.get("execution", workflow)["tasks"]
    work = sum(call.get("runtimeInSeconds", call.get("runtime", 0)) for call in calls)
    return max(1, round(1e6 * 4 * seconds / work))


def flow(case, file, scale, data_scale, disturb):
    """One run of a workflow whose data are digests of all that they were made of: its end, the digests of each subtask, and
    what `disturb` says."""
    cluster = case.cluster()
    digests = cluster.path("digests")
    for number in range(1, 5):
        cluster.start_worker(f"w{number}", "--operators", beside(case, "libchaos_operators.so"), slots=1,
                             environment={"CHAOS_DIGESTS": digests})
    cluster.wait_for_workers(4)
    client = Client(cluster)
    running = client.begin("workflow", "flow", file, scale, data_scale)
    said = disturb(cluster)
    end = client.result(running)
    found = collections.defaultdict(set)
    with open(digests, encoding="ascii") as lines:
        for line in lines:
            found[int(line.split()[0])].add(line.split()[1])
    return end, found, said


def kill_in(case, file, scale):
    def kill(cluster):
        job = wait_for(lambda: cluster.ask("job", "flow"), what="the job")
        wait_for(lambda: cluster.job("flow")["succeeded"] >= job["subtasks"] // 4, 60, "a quarter of the job")
        killed = next(row for row in cluster.ask("workers") if row["name"] == "w1")
        middle = cluster.job("flow")
        cluster.kill_worker("w1")
        return killed, middle

    data_scale = max(1, scale // 10)
    end, results, (killed, middle) = flow(case, file, scale, data_scale, kill)
    calm, wanted, _ = flow(case, file, 0, data_scale, lambda _: None)
    for run in (end, calm):
        case.expect(run["state"] == "succeeded" and run["succeeded"] == run["subtasks"] and run["failed"] == 0,
                    f"{file}: did not succeed: {run['state']}, {run['succeeded']} of {run['subtasks']}")
    wrong = [subtask for subtask in range(calm["subtasks"]) if results[subtask] != wanted[subtask] or len(wanted[subtask]) != 1]
    case.expect(not wrong, f"{file}: not the results of an undisturbed run: subtasks {wrong[:10]}")
    case.expect(middle["state"] == "running", f"{file}: it had ended before the kill")
    runs = collections.defaultdict(list)
    for subtask, worker in end["runs"]:
        runs[subtask].append(worker)
    extra = sum(len(workers) - 1 for workers in runs.values())
    for subtask, workers in runs.items():
        # What had been read stays where it is: there is room for all of it.
        case.expect(len(workers) == 1 or killed["id"] in workers[:-1],
                    f"{file}: {subtask} ran again, but its data was on {workers}")
    ended_there = sum(workers.count(killed["id"]) for workers in runs.values())
    # What it had begun and not reported left no trace; it was assigned there.
    return extra, ended_there + killed["assigned"]
