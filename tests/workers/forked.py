"""Runs as a process of pytest that is forked instead of started: `python -IS forked.py ADDRESS`."""

import signal
import socket
import sys

# Ctrl-C is for the fork, in the same group of processes, whose end is the end of this one.
signal.signal(signal.SIGINT, signal.SIG_IGN)
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect(sys.argv[1])
    socket.send_fds(asked, [b"fork"], [0, 1])
    # The fork writes nothing; its end is the end of the stream.
    asked.recv(1)
