"""The networks and their training loops in torch, and their application in numpy: integers in, arrays out.

Read ``translator`` (SIGIR'17), then ``siamese_network`` and ``pair_inference`` (the capstone). ``training`` is what
both trainings share. Nothing here knows URLs or rules.
"""
