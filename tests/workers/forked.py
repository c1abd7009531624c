"""Runs as a process of pytest that is forked instead of started: `python -IS worker.py ADDRESS`."""

import socket
import sys

with socket.socket(socket.AF_UNIX) as asked:
    asked.connect(sys.argv[1])
    socket.send_fds(asked, [b"fork"], [0, 1])
    # The fork writes nothing; its end is the end of the stream.
    asked.recv(1)
