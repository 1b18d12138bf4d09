"""`python -m prism`: the `prism` command."""

from prism.cli import main

raise SystemExit(main())
