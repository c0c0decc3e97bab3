def read_evidence(folder, digest, on_trouble): return {}
def write_evidence(folder, digest, counts): pass
