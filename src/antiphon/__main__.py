"""``python -m antiphon`` is the same as ``antiphon``."""

from antiphon.cli import main

if __name__ == "__main__":
    main()
