"""The networks in torch and their training loops, and in numpy what a crawl asks of them: integers in, tensors out.

Read ``translator`` and ``training`` (SIGIR'17), then ``siamese``, ``pair_training`` and ``pair_inference`` (the
capstone); ``vocabulary`` and ``alphabet`` number what they read. No URL and no rule belongs here.
"""
