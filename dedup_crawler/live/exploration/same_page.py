class PageComparison:
    def __init__(self, pages): pass
    def is_same(self, a, b): return a.body==b.body
