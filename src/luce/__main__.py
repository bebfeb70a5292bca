"""`python -m luce` is `luce`."""

from luce.cli import main

raise SystemExit(main())
