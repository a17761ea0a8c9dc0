"""One verb a file: what a statement does, once it is understood."""
