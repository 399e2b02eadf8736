# SPDX-License-Identifier: MIT
"""The trial of a GPU driver's library: a program of its own that makes the calls which the core will make, so that a
library that crashes takes this process along and no training (src/monitor/host/gpu_trial.h starts it, with -I -S).

Argument: the library. Standard output gets the name of each call before it is made, and "end". Imports nothing but
what is built into the interpreter or lies beside it.
"""

from __future__ import annotations

import os
import signal
import sys

# Seconds after which it ends itself, where no process is left that would end it.
TRIAL_SECONDS_MAX = 60
# As kGpusMax and kProcessesMax of the core
GPUS_MAX, PROCESSES_MAX, TEXT_BYTES = 64, 128, 96


def main() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(TRIAL_SECONDS_MAX)
    os.closerange(3, 1 << 20)  # what the program did not mean to share
    import ctypes

    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: a crash here is expected and leaves no core file
    say("dlopen")
    library = ctypes.CDLL(sys.argv[1])

    def call(name: str, *arguments: object) -> bool:
        function = getattr(library, name, None)
        if function is None:
            return False
        say(name)
        return bool(function(*arguments) == 0)

    count, buffer = ctypes.c_uint(), ctypes.create_string_buffer(32 * PROCESSES_MAX)
    if not call("nvmlInit_v2") or not call("nvmlDeviceGetCount_v2", ctypes.byref(count)):
        return
    call("nvmlSystemGetDriverVersion", buffer, TEXT_BYTES)
    for index in range(min(count.value, GPUS_MAX)):
        gpu, number = ctypes.c_void_p(), ctypes.c_uint(PROCESSES_MAX)
        if not call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(gpu)):
            continue
        for name in ("nvmlDeviceGetUUID", "nvmlDeviceGetName"):
            call(name, gpu, buffer, TEXT_BYTES)
        for name in ("nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetPowerUsage"):
            call(name, gpu, buffer)
        call("nvmlDeviceGetComputeRunningProcesses_v3", gpu, ctypes.byref(number), buffer)
        call("nvmlDeviceGetTemperature", gpu, 0, buffer)
        for kind in (1, 2):
            call("nvmlDeviceGetClockInfo", gpu, kind, buffer)
        for kind in (0, 1):
            call("nvmlDeviceGetTotalEccErrors", gpu, kind, 0, buffer)


def say(word: str) -> None:
    os.write(1, f"{word}\n".encode())


if __name__ == "__main__":
    try:
        main()
    except Exception:  # no ctypes, or no such library: nothing that would crash
        pass
    say("end")
    os._exit(0)  # what the library does at exit is not the training's
