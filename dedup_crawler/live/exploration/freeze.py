class SiteFreeze:
    is_frozen=False
    def saw(self, forms, body): return set()
