"""One self-contained HTML file about a crawl and its models: it loads nothing, runs no script, and can be printed."""
