"""Docstrings in three styles."""

import inspect

from support import unittest

from jackfield_worker.docs import parse


class Styles(unittest.TestCase):
    def check(self, text, description, parameters):
        self.assertEqual(parse(inspect.cleandoc(text)), (description, parameters))

    def test_google(self):
        self.check(
            """Say hello.

            Goes on here.

            Args:
                name (str): who
                    is greeted
                times: how often

            Returns:
                the greeting
            """,
            "Say hello.\n\nGoes on here.\n\nReturns:\n    the greeting",
            {"name": "who is greeted", "times": "how often"},
        )

    def test_numpy(self):
        self.check(
            """Say hello.

            Parameters
            ----------
            name : str
                who is greeted
            x, y : int
                where

            Returns
            -------
            str
            """,
            "Say hello.\n\nReturns\n-------\nstr",
            {"name": "who is greeted", "x": "where", "y": "where"},
        )

    def test_sphinx(self):
        self.check(
            """Say hello.

            :param str name: who
                is greeted
            :type name: str
            :param times: how often
            :returns: the greeting
            """,
            "Say hello.\n\n:returns: the greeting",
            {"name": "who is greeted", "times": "how often"},
        )

    def test_none(self):
        self.check("", "", {})
        self.check("Only this: nothing more.", "Only this: nothing more.", {})


if __name__ == "__main__":
    unittest.main()
