"""How much of the machine other programs use while something is timed: the Python side of bench/support/load.hpp."""
import os
import time


def everyone_seconds():
    """Processor seconds of all programs and, where the system tells ("steal"), of others on the same host; 0 without /proc."""
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    except OSError:
        return 0.0
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Load:
    """The state at one moment; `own` are the seconds of this process and of the children it waited for."""

    def __init__(self):
        times = os.times()
        self.time = time.perf_counter()
        self.everyone = everyone_seconds()
        self.own = sum(times[:4])

    def others_since(self, before):
        """Cores that others had in use since `before`, on average."""
        used = self.everyone - before.everyone - (self.own - before.own)
        return max(0.0, used / (self.time - before.time))


def samples(call, count, least_seconds=0.2):
    """`count` times: (seconds of one call, cores of others), each a mean over at least `least_seconds`."""
    start = time.perf_counter()
    call()
    calls = max(1, int(least_seconds / (time.perf_counter() - start)))
    for _ in range(count):
        before = Load()
        for _ in range(calls):
            call()
        after = Load()
        yield (after.time - before.time) / calls, after.others_since(before)
