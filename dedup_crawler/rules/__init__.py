"""What miners share: mapping templates to templates, and judging a mapping by the pages it merges."""
