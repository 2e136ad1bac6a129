"""A Slurm of its own for the tests: munge, slurmctld and two slurmd on this host, and the commands of its users."""

import os
import pwd
import re
import socket
import subprocess
import time

NODES = ("n1", "n2")
LONG_SECONDS = 300  # deadline of events that take seconds on an idle machine
USERS = ("games", "news")  # of Debian's base system; nothing else runs as them
# cred_expire: also the time for which a requeued job waits. The short intervals of the scheduler start jobs at once.
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthInfo=socket={folder}/munge.socket,cred_expire=10
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,bf_hetjob_immediate,batch_sched_delay=0,sched_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MpiDefault=none
MessageTimeout=60
SlurmctldTimeout=300
SlurmdTimeout=300
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=16
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=16
PartitionName=main Nodes=n1,n2 Default=YES PriorityTier=1
PartitionName=urgent Nodes=n1,n2 PriorityTier=2
"""


def free_ports(number):
    """Returns ports that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def eventually(what, condition, seconds=LONG_SECONDS, context=lambda: ""):
    """Polls until the condition returns something true, and returns it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited too long: {what}\n{context()}"
        time.sleep(0.05)
    return found


def as_user(user, command, environment=None, **arguments):
    """Runs a command as another user, with an environment that has nothing of this process."""
    entry = pwd.getpwnam(user)
    clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "USER": user, **(environment or {})}
    return subprocess.run(
        list(map(str, command)), user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], env=clean, umask=0o022, text=True,
        capture_output=True, timeout=LONG_SECONDS, **arguments,
    )  # fmt: skip


class Slurm:
    """`folder` must be reachable by all users."""

    def __init__(self, folder):
        self.folder = folder
        self.configuration = folder / "slurm.conf"
        self.processes = []
        self.environment = {"SLURM_CONF": str(self.configuration), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    def start(self):
        folder = self.folder
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.configuration.write_text(CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=free_ports(3)))
        self._run(
            "munged", "--foreground", f"--key-file={key}", f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed",
        )  # fmt: skip
        eventually("munge", (folder / "munge.socket").exists)
        self._run("slurmctld", "-D")
        eventually("slurmctld", lambda: self.command("sinfo", check=False).returncode == 0, context=self.logs)
        for node in NODES:
            self._run("slurmd", "-D", "-N", node)
        eventually("nodes", lambda: self.command("sinfo", "-hNo", "%T").stdout.split().count("idle") >= 4, context=self.logs)

    def stop(self):
        for user in ("root", *USERS):
            self.end_all(user)
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:  # slurmd waits for an answer of slurmctld, which has ended
                process.kill()
                process.wait()

    def end_all(self, user):
        """Cancels all jobs of a user and waits for their ends."""
        self.command("scancel", f"--user={user}", check=False)
        queue = ("squeue", "-h", f"--user={user}")
        eventually("the end of all jobs", lambda: not self.command(*queue, check=False).stdout, context=self.logs)

    def _run(self, *command):
        with open(self.folder / "daemons.log", "a") as log:
            self.processes.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))

    def logs(self):
        return "\n".join(f"{path.name}:\n{path.read_text(errors='replace')[-1500:]}" for path in self.folder.glob("*.log"))

    def command(self, *command, user=None, check=True):
        if user is None:
            run = subprocess.run(command, env=self.environment, text=True, capture_output=True, timeout=LONG_SECONDS)
        else:
            run = as_user(user, command, self.environment)
        assert not check or run.returncode == 0, f"{command}: {run.stderr}"
        return run

    def submit(self, user, script, *arguments, flags=(), environment=None, cwd):
        """Submits a batch script as a user and returns the job."""
        command = ["sbatch", "--parsable", *flags, script, *arguments]
        run = as_user(user, command, {**self.environment, **(environment or {})}, cwd=cwd)
        assert run.returncode == 0, run.stderr
        return Job(self, int(run.stdout.strip()), user, cwd)


class Job:
    def __init__(self, slurm, number, user, cwd):
        self.slurm, self.number, self.user, self.cwd = slurm, number, user, cwd

    def field(self, name):
        """Returns a field of `scontrol show job`, of the first component."""
        text = self.slurm.command("scontrol", "show", "job", "--oneliner", str(self.number)).stdout
        return re.search(rf"(?:^| ){name}=(\S*)", text).group(1)

    def state(self):
        return self.field("JobState")

    def output(self):
        path = self.cwd / f"slurm-{self.number}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait(self, *states):
        def arrived():
            state = self.state()
            bad = {"FAILED", "CANCELLED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "COMPLETED"} - set(states)
            assert state not in bad, f"job {self.number} is {state}\n{self.output()}"
            return state in states

        def last_lines():
            return f"{self.state()}\n{self.output()[-3000:]}"

        eventually(f"job {self.number}: {states}", arrived, 3 * LONG_SECONDS, context=last_lines)

    def restarts(self):
        return int(self.field("Restarts"))

    def requeue(self):
        """Requeues the job as its user, and waits until it runs again."""
        before = self.restarts()
        self.slurm.command("scontrol", "requeue", str(self.number), user=self.user)
        self.wait_for_restart(before + 1)

    def wait_for_restart(self, number):
        # The backfill scheduler alone starts heterogeneous jobs, and may take minutes.
        restarted = f"restart {number} of job {self.number}"
        eventually(restarted, lambda: self.restarts() >= number, 3 * LONG_SECONDS, context=self.output)
        self.wait("RUNNING", "COMPLETED")

    def cancel(self):
        self.slurm.command("scancel", str(self.number), user=self.user)
        self.wait("CANCELLED")
