"""Networks: integers in, tensors out. No URL and no SQL here; torch is imported only by the files that train."""
