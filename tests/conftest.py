"""What every test may use."""

import signal

# a shell starts background jobs with SIGINT ignored, and their children inherit that: the tests that press Ctrl-C in a
# process of their own must work there too
signal.signal(signal.SIGINT, signal.default_int_handler)
