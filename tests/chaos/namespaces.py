"""A host of its own for a worker: a network namespace behind a veth pair, which can vanish without a word."""
import os
import shutil
import subprocess

from case import Skipped


def ip(*arguments, namespace=None):
    where = ["-n", namespace] if namespace else []
    subprocess.run(["ip", *where, *arguments], check=True, capture_output=True)


class OtherHost:
    """Reached from here at `inside`, and reaches us at `outside`. Commands run there with `prefix`."""

    def __init__(self, case):
        if shutil.which("ip") is None:
            raise Skipped("there is no `ip` here")
        number = os.getpid() & 0x3fff
        self.namespace, self.veth = f"chaos-{os.getpid()}", f"pc{os.getpid() & 0xfffff}"
        inner = self.veth + "i"
        # 198.18.0.0/15 is set aside for tests of networks; four addresses for each process that tests.
        base = f"198.{18 + (number >> 13)}.{(number >> 6) & 0x7f}."
        self.outside, self.inside = base + str((number & 63) * 4 + 1), base + str((number & 63) * 4 + 2)
        try:
            ip("netns", "add", self.namespace)
        except subprocess.CalledProcessError as refused:
            raise Skipped("network namespaces are not permitted: " + refused.stderr.decode().strip()) from refused
        case.at_end(self.end)
        try:
            ip("link", "add", self.veth, "type", "veth", "peer", "name", inner)
            ip("link", "set", inner, "netns", self.namespace)
            ip("addr", "add", self.outside + "/30", "dev", self.veth)
            ip("addr", "add", self.inside + "/30", "dev", inner, namespace=self.namespace)
            ip("link", "set", "lo", "up", namespace=self.namespace)
            ip("link", "set", inner, "up", namespace=self.namespace)
            ip("link", "set", self.veth, "up")
        except subprocess.CalledProcessError as refused:
            raise Skipped("no veth pair can be made: " + refused.stderr.decode().strip()) from refused
        self.prefix = ["ip", "netns", "exec", self.namespace]

    def vanish(self):
        ip("link", "set", self.veth, "down")

    def come_back(self):
        ip("link", "set", self.veth, "up")

    def end(self):
        subprocess.run(["ip", "netns", "del", self.namespace], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.veth], check=False, capture_output=True)
