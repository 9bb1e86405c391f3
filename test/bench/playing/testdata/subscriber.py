"""A subscriber of rospy that notes when its callbacks are called: see subscriber.cpp."""
import signal
import struct
import sys
import threading
import time

import rospy

lock = threading.Lock()
arrivals = []
ending = False  # no Event: a signal handler must not take locks


def note(message, topic):
    at = time.monotonic_ns()
    seq, due = struct.unpack_from("<IQ", message._buff, 4)
    with lock:
        arrivals.append((topic, seq, due, at))


rospy.init_node("subscriber", anonymous=True, disable_signals=True)
subscribers = [rospy.Subscriber(name, rospy.AnyMsg, note, i) for i, name in enumerate(sys.argv[1:])]


def end(*_):
    global ending
    ending = True


signal.signal(signal.SIGINT, end)
print("ready", flush=True)
had, quiet = 0, time.monotonic()
while not ending or time.monotonic() - quiet < 0.5:
    time.sleep(0.05)
    with lock:
        count = len(arrivals)
    if count > had:
        had, quiet = count, time.monotonic()
with lock:
    print("\n".join("%d %d %d %d" % a for a in arrivals))
