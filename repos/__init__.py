"""Tasks on real codebases: bugs that upstream fixed later, in the release before."""
