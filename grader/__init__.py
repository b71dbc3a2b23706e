"""From a final filesystem and transcripts to a verdict with evidence: knows nothing of Docker."""
