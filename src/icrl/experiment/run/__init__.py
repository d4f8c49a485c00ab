"""One run: what it starts from, what it does by its method, who looks on, how it is scored."""
