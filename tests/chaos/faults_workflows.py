"""One of four workers is killed in the middle of each recorded workflow."""
import collections
import glob
import json
import os

from cluster import wait_for
from case import Skipped
from faults_storms import Client

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/workflows")


def one_of_four(case):
    """W01: the same results, and at most that runs again which the killed worker held."""
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


def kill_in(case, file, scale):
    cluster = case.cluster(workers=4, slots=1)
    client = Client(cluster)
    running = client.begin("workflow", "flow", file, scale)
    job = wait_for(lambda: cluster.ask("job", "flow"), what="the job")
    wait_for(lambda: cluster.job("flow")["succeeded"] >= job["subtasks"] // 4, 60, "a quarter of the job")
    killed = next(row for row in cluster.ask("workers") if row["name"] == "w1")
    middle = cluster.job("flow")
    cluster.kill_worker("w1")
    end = client.result(running)
    case.expect(end["state"] == "succeeded" and end["succeeded"] == end["subtasks"] and end["failed"] == 0,
                f"{file}: not the results of an undisturbed run: {end['state']}, {end['succeeded']} of {end['subtasks']}")
    case.expect(middle["state"] == "running", f"{file}: it had ended before the kill")
    runs = collections.defaultdict(list)
    for subtask, worker in end["runs"]:
        runs[subtask].append(worker)
    extra = sum(len(workers) - 1 for workers in runs.values())
    for subtask, workers in runs.items():
        case.expect(len(workers) == 1 or killed["id"] in workers[:-1], f"{file}: {subtask} ran again, but its data was on {workers}")
    ended_there = sum(workers.count(killed["id"]) for workers in runs.values())
    # What it had begun and not reported left no trace; it was assigned there.
    return extra, ended_there + killed["assigned"]
