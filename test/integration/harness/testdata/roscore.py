"""Runs what a roscore runs, but for roslaunch: rosmaster in this process, and rosout beside it.

roslaunch and its children take more than a second of processor time to start. Here the modules are there
already: see forkserver.py.

Argument: the port of the master.
"""
import ctypes
import signal
import subprocess
import sys
import threading
import time
import uuid

import rosgraph
import rosmaster.main

PR_SET_PDEATHSIG = 1


def set_parameters():
    """Sets the parameters that each roscore has, as soon as the master answers."""
    master = rosgraph.Master('/roslaunch')
    while not master.is_online():
        time.sleep(0.01)
    master.setParam('/rosdistro', 'noetic\n')
    master.setParam('/rosversion', '1.15.15\n')
    master.setParam('/run_id', str(uuid.uuid1()))


libc = ctypes.CDLL(None)
# rosout waits for the master. It ends with this process, as it would with a roscore.
subprocess.Popen(['/usr/lib/rosout/rosout', '__name:=rosout'],
                 preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
threading.Thread(target=set_parameters, daemon=True).start()
rosmaster.main.rosmaster_main(['rosmaster', '--core', '-p', sys.argv[1]])
