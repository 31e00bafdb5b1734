"""What must hold after every fault: I1 to I6 of faults.md, as far as one can see from outside."""
import collections

# What each witnessed attempt writes; lines of one file are in the order of time. An attempt that is not the first
# looks whether a former one still lives.
SCRIPT = r'''
if [ "$PENSTOCK_ATTEMPT" -gt 1 ]; then
  grep "^s $PENSTOCK_SUBTASK " "$WITNESS" | while read -r _ _ _ former _; do
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$former/status" 2>/dev/null)
    case "$state" in "" | Z | X) ;; *) echo "o $PENSTOCK_SUBTASK $PENSTOCK_ATTEMPT $former" >>"$WITNESS" ;; esac
  done
fi
echo "s $PENSTOCK_SUBTASK $PENSTOCK_ATTEMPT $$ $CHAOS_WORKER ${CHAOS_MEMORY:-0} ${CUDA_VISIBLE_DEVICES:--}" >>"$WITNESS"
'''
END = 'echo "e $PENSTOCK_SUBTASK $PENSTOCK_ATTEMPT $$ $CHAOS_WORKER" >>"$WITNESS"'


def witness_job(cluster, name, parts, head=""):
    """A job file. `parts`: (key, count, body, more fields); `body` is shell between the two witness lines."""
    text = f"name = '{name}'\nkeep = 'nothing'\n{head}\nenv = {{ WITNESS = '{cluster.witness}' }}\n"
    for key, count, body, fields in parts:
        text += (f"[[subtask]]\nkey = '{key}'\narray = '0-{count - 1}'\n{fields}\n"
                 f"command = ['sh', '-c', '''{SCRIPT}{body.replace(chr(39) * 3, '')}\n{END}''']\n")
    return text


def witness_diamonds(cluster, name, count, width, body, fields="", head=""):
    """The same with an order to keep: (text, edges, subtasks). Each of `count` diamonds is `width` subtasks that wait for the
    tip of the one before, and a tip that waits for them all."""
    parts, edges = [], []
    for number in range(count):
        first = number * (width + 1)
        tip = first + width
        edges += [(first - 1, subtask) for subtask in range(first, tip) if number] + [(i, tip) for i in range(first, tip)]
        parts += [(f"d{number}", width, body, fields + (f"\nafter = ['t{number - 1}[*]']" if number else "")),
                  (f"t{number}", 1, "true", f"after = ['d{number}[*]']")]
    return witness_job(cluster, name, parts, head), edges, count * (width + 1)


class Oracle:
    """Judges one job whose subtasks were witnessed."""

    def __init__(self, cluster, job):
        self.job, self.lines = job, cluster.witnessed()

    def breaches(self, slots=None, edges=None, overlap=True, memory=None):
        """Sentences about what is broken. `slots`, `memory` (bytes): of each worker, None where attempts were killed one by
        one; `edges`: (predecessor, successor) as numbers; `overlap`: False where a partition hides the former attempt."""
        found = list(self._one_end())
        if overlap:
            found += [f"I2: attempt {line[2]} of {line[1]} began while a former one lived as process {line[3]}"
                      for line in self.lines if line[0] == "o"]
        if slots:
            found += self._in_use(slots, memory)
        found += self._order(edges or ())
        return found

    def _one_end(self):
        job = self.job
        if job["state"] not in ("succeeded", "failed", "cancelled"):
            yield f"I1: the job is {job['state']}"
        ends = job["succeeded"] + job["failed"] + job["cancelled"]
        if ends != job["subtasks"]:
            yield f"I1: {ends} ends of {job['subtasks']} subtasks"

    def _in_use(self, slots, memory):
        live = collections.defaultdict(dict)  # Of each worker: what each attempt holds, memory and device.
        for line in self.lines:
            if line[0] == "s":
                here = live[line[4]]
                here[line[1], line[2]] = (int(line[5]), line[6])
                devices = [device for _, device in here.values() if device != "-"]
                used = sum(held for held, _ in here.values())
                if len(here) > slots:
                    return [f"I3: {len(here)} attempts at once on the {slots} slots of {line[4]}"]
                if len(devices) > len(set(devices)):
                    return [f"I3: two attempts at once on a device of {line[4]}: {devices}"]
                if memory is not None and used > memory:
                    return [f"I3: attempts with {used} bytes at once in the {memory} of {line[4]}"]
            elif line[0] == "e":
                live[line[4]].pop((line[1], line[2]), None)
            elif line[0] == "k":
                live[line[1]].clear()
        return []

    def _order(self, edges):
        first_end, first_start = {}, {}
        for place, line in enumerate(self.lines):
            if line[0] in "se" and "job-" + line[1].partition(":")[0] == self.job["id"]:
                known = first_end if line[0] == "e" else first_start
                known.setdefault(int(line[1].partition(":")[2]), place)
        return [f"I4: subtask {after} began before {before} had ended" for before, after in edges
                if after in first_start and first_end.get(before, 1 << 60) > first_start[after]]

    def started(self):
        """Attempts that began, by subtask."""
        counts = collections.Counter(line[1] for line in self.lines if line[0] == "s")
        return counts
