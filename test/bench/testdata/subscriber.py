"""A subscriber of rospy that notes when its callbacks are called: see subscriber.cpp."""
import signal
import struct
import sys
import threading
import time

import rospy

lock = threading.Lock()
arrivals = []
ending = threading.Event()


def note(message, topic):
    at = time.monotonic_ns()
    seq, due = struct.unpack_from("<IQ", message._buff, 4)
    with lock:
        arrivals.append((topic, seq, due, at))


rospy.init_node("subscriber", anonymous=True, disable_signals=True)
subscribers = [rospy.Subscriber(name, rospy.AnyMsg, note, i) for i, name in enumerate(sys.argv[1:])]
signal.signal(signal.SIGINT, lambda *_: ending.set())
print("ready", flush=True)
had, quiet = 0, time.monotonic()
while not ending.wait(0.05) or time.monotonic() - quiet < 0.5:
    with lock:
        count = len(arrivals)
    if count > had:
        had, quiet = count, time.monotonic()
    if ending.is_set():
        time.sleep(0.05)
with lock:
    print("\n".join("%d %d %d %d" % a for a in arrivals))
