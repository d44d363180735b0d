"""What a Python extension may import from jackfield, and need not: the same names are there without an import.

    from jackfield import Message, host, progress, log
"""

from jackfield_worker.api import HostError, Message, host, log, progress

__all__ = ["HostError", "Message", "host", "log", "progress"]
