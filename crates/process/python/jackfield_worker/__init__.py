"""The worker behind a Python file that is an extension. It speaks frames with the host; the file need not know."""
