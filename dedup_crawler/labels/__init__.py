"""Which pages are the same: main text, cosine scores, simhash, duplicate clusters, and how right they are."""
