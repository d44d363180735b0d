"""Where a worker begins: `main.py tool FILE NAME`, `main.py channel FILE NAME`, or `main.py describe` for many files at once.

Written so that even an interpreter that is too old can say so.
"""

import sys

OLDEST = (3, 9)


def main():
    if sys.version_info < OLDEST:
        import json

        found = ".".join(str(part) for part in sys.version_info[:3])
        message = (
            "%s is Python %s, and extensions need 3.9 or newer; install a newer one, name it as `interpreter` in the "
            "table [python] of config.toml, or make a virtual environment beside the extension" % (sys.executable, found)
        )
        sys.stdout.write(json.dumps({"type": "cannot_start", "message": message}) + "\n")
        sys.stdout.flush()
        return 1
    # Our own byte code is kept: this directory is the host's and named after its content. Nothing else's is written.
    kept = sys.dont_write_bytecode
    sys.dont_write_bytecode = False
    from jackfield_worker import work

    sys.dont_write_bytecode = kept
    return work.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
