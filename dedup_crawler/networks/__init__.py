"""The networks and their training loops in torch, and their application in numpy: integers in, arrays out.

Read ``translator`` and ``training`` (SIGIR'17), then ``siamese``, ``pair_training`` and ``pair_inference`` (the
capstone). ``vocabulary`` and ``alphabet`` turn tokens and symbols into numbers. Nothing here knows URLs or rules.
"""
